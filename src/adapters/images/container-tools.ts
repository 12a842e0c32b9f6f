import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import { type Digest, parseDigest } from '../../kernel/ids.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { findProgram } from '../sandbox/local/host/find-program.ts';

const run = promisify(execFile);
const KEEPERS = ['docker', 'podman'] as const;
const BUILDERS = ['docker', 'podman', 'buildah'] as const;
const SAVE_SECONDS = 1800;
const DAEMON_SECONDS = 30;
const OUTPUT = 4 * 2 ** 20;

/** An image that docker or podman has. */
export interface LocalImage {
  readonly digest: Digest;
  /** Writes it as `docker save` does. @throws InfrastructureError */
  save(file: string, signal: AbortSignal): Promise<void>;
}

/** What is built, and where the image goes. */
interface ImageBuild {
  readonly dockerfile: string;
  /** Directory with the files that the Dockerfile copies. */
  readonly context: string;
  readonly file: string;
  readonly seconds: number;
}

/** @returns undefined where neither docker nor podman has an image of that name. They do not fetch it. */
export async function findKeptImage(reference: string, signal: AbortSignal): Promise<LocalImage | undefined> {
  // A name that begins with "-" would be read as a flag.
  if (reference.startsWith('-')) return undefined;
  for (const name of KEEPERS) {
    const tool = await findProgram(name);
    if (tool === undefined) continue;
    // It has no such image, or its daemon does not run: the next tool may have it.
    const found = await run(tool, ['image', 'inspect', '--format', '{{.Id}}', reference], { signal, maxBuffer: OUTPUT }).catch(
      () => undefined,
    );
    signal.throwIfAborted();
    const id = found?.stdout.trim().replace(/^(sha256:)?/, 'sha256:');
    if (id === undefined || !/^sha256:[0-9a-f]{64}$/.test(id)) continue;
    const save = async (file: string, until: AbortSignal): Promise<void> => {
      const format = name === 'podman' ? ['--format', 'docker-archive'] : [];
      await runTool(tool, ['image', 'save', ...format, '--output', file, reference], SAVE_SECONDS, until);
    };
    return { digest: parseDigest(id), save };
  }
  return undefined;
}

/**
 * Builds a Dockerfile with the first of docker, podman and buildah that is ready, and writes the image as `docker save` does.
 *
 * @param where names the task's Dockerfile in messages: what is built is a copy. @throws InputError `image.no-builder` where none is ready,
 * `image.build` with the builder's message.
 */
export async function buildImage(where: string, { dockerfile, context, file, seconds }: ImageBuild, signal: AbortSignal): Promise<void> {
  let unready = 'no program that builds it is installed';
  for (const name of BUILDERS) {
    const tool = await findProgram(name);
    if (tool === undefined) continue;
    const silence = name === 'docker' ? await findSilence(tool, signal) : undefined;
    if (silence !== undefined) {
      unready = `docker has no daemon that answers (${silence}), and no other program that builds it is installed`;
      continue;
    }
    const idFile = `${file}.id`;
    const verb = name === 'buildah' ? 'bud' : 'build';
    const readId = async (): Promise<string> => (await readFile(idFile, 'utf8')).trim();
    try {
      await runTool(tool, [verb, '--iidfile', idFile, '--file', dockerfile, context], seconds, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new InputError(
        'image.build',
        `${where}: ${name} does not build it; mend it, or what ${name} says is missing: ${getMessage(error)}`,
        { cause: error },
      );
    }
    if (name === 'buildah') await runTool(tool, ['push', await readId(), `docker-archive:${file}`], SAVE_SECONDS, signal);
    else await runTool(tool, ['image', 'save', '--output', file, await readId()], SAVE_SECONDS, signal);
    return;
  }
  const remedy = 'install docker with its daemon, podman or buildah, or say root = "image" or root = "host" in muster.toml';
  throw new InputError('image.no-builder', `${where}: ${unready}; ${remedy}`);
}

/** Returns why docker's daemon does not answer; undefined when it does. */
async function findSilence(docker: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    await runTool(docker, ['version'], DAEMON_SECONDS, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return escapeUnprintableLine(getMessage(error));
  }
}

async function runTool(tool: string, args: readonly string[], seconds: number, signal: AbortSignal): Promise<void> {
  try {
    await run(tool, [...args], { signal, maxBuffer: OUTPUT, timeout: seconds * 1000, killSignal: 'SIGKILL' });
  } catch (error) {
    signal.throwIfAborted();
    const said: unknown = error instanceof Error ? Reflect.get(error, 'stderr') : undefined;
    const detail = typeof said === 'string' && said.trim() !== '' ? said.trim().slice(-2000) : getMessage(error);
    throw new InfrastructureError('image.tool', `${tool} ${args[0] ?? ''}: ${detail}`, { cause: error });
  }
}
