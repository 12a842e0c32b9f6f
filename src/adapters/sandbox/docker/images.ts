import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type Docker from 'dockerode';
import { InputError, messageOf } from '../../../kernel/errors.ts';
import { statusOf } from './daemon.ts';
import type { DockerPart } from './settings.ts';

/**
 * Has the daemon have the image: from its archive or its registry, when it does not.
 *
 * @throws InputError `docker.no-image` with what was tried.
 */
export async function ensureImage(docker: Docker, part: DockerPart): Promise<void> {
  if (await hasImage(docker, part.image)) return;
  if (part.archive !== undefined) await load(docker, part, part.archive);
  else if (part.pull === 'missing') await pull(docker, part);
  else throw noImageError(part, 'the daemon does not have it, and docker.pull is never', 'pull or build it, or set docker.archive');
}

async function hasImage(docker: Docker, image: string): Promise<boolean> {
  try {
    await docker.getImage(image).inspect();
    return true;
  } catch (error) {
    if (statusOf(error) === 404) return false;
    throw error;
  }
}

async function load(docker: Docker, part: DockerPart, archive: string): Promise<void> {
  const remedy = 'name a file that "docker save" wrote of this image';
  try {
    await stat(archive);
    await followProgress(docker, await docker.loadImage(createReadStream(archive), { quiet: true }));
  } catch (error) {
    throw noImageError(part, `${archive} cannot be loaded: ${messageOf(error)}`, remedy);
  }
  if (!(await hasImage(docker, part.image))) throw noImageError(part, `${archive} does not hold it`, remedy);
}

async function pull(docker: Docker, part: DockerPart): Promise<void> {
  const { image } = part;
  try {
    await followProgress(docker, await docker.pull(/[:@]/.test(image.slice(image.lastIndexOf('/') + 1)) ? image : `${image}:latest`));
  } catch (error) {
    throw noImageError(
      part,
      `it cannot be pulled: ${messageOf(error)}`,
      'build it with deploy/docker/runner.Dockerfile, or set docker.archive',
    );
  }
}

/** Resolves when the daemon has done it. */
function followProgress(docker: Docker, progress: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    docker.modem.followProgress(progress, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}

function noImageError({ image }: DockerPart, problem: string, remedy: string): InputError {
  return new InputError('docker.no-image', `docker.image is ${image}, but ${problem}; ${remedy}`);
}
