import { stat, chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { InputError, getMessage } from '../../../kernel/errors.ts';
import type { Daemon } from './daemon.ts';
import type { DockerPart } from './settings.ts';
import { createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { create } from 'tar';
import { nameSkeleton, type Skeleton } from './skeleton.ts';

/**
 * Has the daemon have the image: from its archive or its registry, when it does not.
 *
 * @throws InputError `docker.no-image` with what was tried.
 */
export async function ensureImage(daemon: Daemon, part: DockerPart): Promise<void> {
  if (part.skeleton !== undefined) return ensureSkeleton(daemon, part.skeleton);
  if (await daemon.hasImage(part.image)) return;
  if (part.archive !== undefined) await load(daemon, part, part.archive);
  else if (part.pull === 'missing') await pull(daemon, part);
  else throw createNoImageError(part, 'the daemon does not have it, and docker.pull is never', 'pull or build it, or set docker.archive');
}

async function load(daemon: Daemon, part: DockerPart, archive: string): Promise<void> {
  const remedy = 'name a file that "docker save" wrote of this image';
  try {
    await stat(archive);
    await daemon.loadImage(archive);
  } catch (error) {
    throw createNoImageError(part, `${archive} cannot be loaded: ${getMessage(error)}`, remedy);
  }
  if (!(await daemon.hasImage(part.image))) throw createNoImageError(part, `${archive} does not hold it`, remedy);
}

async function pull(daemon: Daemon, part: DockerPart): Promise<void> {
  const { image } = part;
  try {
    await daemon.pullImage(/[:@]/.test(image.slice(image.lastIndexOf('/') + 1)) ? image : `${image}:latest`);
  } catch (error) {
    throw createNoImageError(
      part,
      `it cannot be pulled: ${getMessage(error)}`,
      'build it with deploy/docker/runner.Dockerfile, or set docker.archive',
    );
  }
}

function createNoImageError({ image }: DockerPart, problem: string, remedy: string): InputError {
  return new InputError('docker.no-image', `docker.image is ${image}, but ${problem}; ${remedy}`);
}

const DIRECTORIES = ['dev', 'etc', 'muster', 'proc', 'sys', 'tmp', 'usr'];
const OPEN_TO_ALL = 0o1777;

/** Has the daemon have the image. */
async function ensureSkeleton(daemon: Daemon, skeleton: Skeleton): Promise<void> {
  const image = nameSkeleton(skeleton);
  if (await daemon.hasImage(image)) return;
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-skeleton-'));
  try {
    const root = path.join(directory, 'root');
    await layOut(root, skeleton);
    const archive = path.join(directory, 'root.tar');
    await create({ cwd: root, file: archive, portable: true }, ['.']);
    await daemon.importImage(image, createReadStream(archive));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function layOut(root: string, { links, files }: Skeleton): Promise<void> {
  for (const name of DIRECTORIES) await mkdir(path.join(root, name), { recursive: true });
  // A tmpfs takes over the mode of the directory that it covers.
  await chmod(path.join(root, 'tmp'), OPEN_TO_ALL);
  for (const [at, to] of Object.entries(links)) {
    await mkdir(path.dirname(path.join(root, at)), { recursive: true });
    await symlink(to, path.join(root, at));
  }
  for (const [at, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, at)), { recursive: true });
    await writeFile(path.join(root, at), content, { mode: 0o644 });
  }
}
