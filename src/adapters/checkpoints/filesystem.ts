import { constants, type BigIntStats, type Dirent } from 'node:fs';
import { lstat, open, readdir, readlink, realpath, stat, type FileHandle } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import PQueue from 'p-queue';
import { systemClock } from '../../kernel/clock.ts';
import { InfrastructureError, InputError, messageOf, MusterError } from '../../kernel/errors.ts';
import { assertCheckpointPath } from '../../policy-distribution/checkpoint.ts';
import {
  CheckpointChangedError,
  type CheckpointListing,
  type CheckpointSource,
  type ListedFile,
  type ListOptions,
} from '../../policy-distribution/checkpoint-source.ts';

import { isInside, Roots } from './roots.ts';

/** Large enough that the disk is the limit, small enough that hashing one chunk keeps no other work waiting. */
const CHUNK_BYTES = 256 * 1024;

/**
 * Directories that a listing may lead through, unless as many files as that are allowed: far more than any checkpoint has, and a few seconds'
 * work. A directory counts once for each way that leads to it: links from forty directories to the next, two each, make a trillion ways.
 */
const MOST_DIRECTORIES = 10_000;

/** Some threads look, and take their time where the disk is far away. */
const VISITED_AT_A_TIME = 16;

/** Kernels and network file systems tell times in steps of up to seconds: two changes within one may look like one. */
const SETTLED_MILLISECONDS = 3000;

/** Reads checkpoints from this machine's files: a path (relative ones from the working directory) or a `file:` URL. */
export const filesystemSource: CheckpointSource = sourceOf(undefined);

/**
 * The same for strangers: nothing outside of the roots is read, whatever links lead there. Of what lies outside they do not learn whether it
 * exists.
 *
 * @param roots absolute paths of directories.
 * @throws InputError `checkpoint.outside` also, from both methods of the source.
 */
export function filesystemSourceWithin(roots: readonly string[]): CheckpointSource {
  return sourceOf(new Roots(roots));
}

function sourceOf(roots: Roots | undefined): CheckpointSource {
  return {
    async list(uri, options) {
      const given = pathOf(uri);
      await roots?.assertNamedInside(given);
      const root = await guarded(given, () => realpath(given));
      await roots?.assertInside(root, given);
      const stats = await guarded(given, () => stat(root, { bigint: true }));
      if (stats.isDirectory()) return { kind: 'directory', files: await new DirectoryWalk(root, options).run() };
      return listSingleFile(given, root, stats);
    },

    async *read(file, signal, given) {
      signal.throwIfAborted();
      await using handle = await openListed(file);
      // Where the file really lies, as the kernel has it: a link on the way may have been turned round since it was listed.
      await roots?.assertInside(await guarded(file.address, () => readlink(`/proc/self/fd/${handle.fd}`)), file.address);
      await assertUnchanged(handle, file);
      for (;;) {
        signal.throwIfAborted();
        const { bytesRead, buffer } = await guarded(file.address, () => handle.read(given ?? Buffer.allocUnsafe(CHUNK_BYTES)));
        if (bytesRead === 0) break;
        yield buffer.subarray(0, bytesRead);
      }
      await assertUnchanged(handle, file);
    },
  };
}

function pathOf(uri: string): string {
  if (!/^file:/i.test(uri)) return resolve(uri);
  try {
    return fileURLToPath(uri);
  } catch (error) {
    throw new InputError(
      'checkpoint.path',
      `checkpoint: ${uri} names no file of this machine (${messageOf(error)}); expected file:///absolute/path`,
    );
  }
}

function listSingleFile(given: string, root: string, stats: BigIntStats): CheckpointListing {
  const path = basename(given);
  assertCheckpointPath(path);
  if (!stats.isFile()) throw specialFileError(given, stats);
  return { kind: 'file', files: [listed(path, root, stats)] };
}

interface Child {
  readonly entry: Dirent;
  /** Relative to the root. */
  readonly path: string;
}

/** One listing of a directory tree. Symbolic links are followed as long as they stay inside of it. */
class DirectoryWalk {
  readonly #root: string;
  readonly #options: ListOptions;
  readonly #files: ListedFile[] = [];
  #directories = 0;

  constructor(root: string, options: ListOptions) {
    this.#root = root;
    this.#options = options;
  }

  async run(): Promise<readonly ListedFile[]> {
    await this.#enter(this.#root, '', [this.#root]);
    return this.#files;
  }

  /** @param chain real paths of the directories that lead here: a link back to one of them would never end. */
  async #enter(directory: string, path: string, chain: readonly string[]): Promise<void> {
    this.#countDirectory();
    const entries = await guarded(directory, () => readdir(directory, { withFileTypes: true }));
    const children = entries.map((entry) => ({ entry, path: path === '' ? entry.name : `${path}/${entry.name}` }));
    const wanted = children.filter((child) => this.#options.ignores?.(child.path) !== true);
    for (const child of wanted) assertCheckpointPath(child.path);
    await this.#visitFiles(
      directory,
      wanted.filter(({ entry }) => entry.isFile()),
    );
    for (const { entry, path: childPath } of wanted) {
      this.#options.signal.throwIfAborted();
      if (!entry.isFile()) await this.#visit(join(directory, entry.name), childPath, chain);
    }
  }

  /** The way to a file that is no link is real already. */
  async #visitFiles(directory: string, files: readonly Child[]): Promise<void> {
    const queue = new PQueue({ concurrency: VISITED_AT_A_TIME });
    const visit = async ({ entry, path }: Child): Promise<void> => {
      this.#options.signal.throwIfAborted();
      const address = join(directory, entry.name);
      const stats = await guarded(address, () => lstat(address, { bigint: true }));
      if (!stats.isFile()) throw new CheckpointChangedError(address, 'something else took its place');
      this.#add(listed(path, address, stats));
    };
    try {
      await queue.addAll(files.map((file) => () => visit(file)));
    } finally {
      queue.clear();
    }
  }

  async #visit(address: string, path: string, chain: readonly string[]): Promise<void> {
    const real = await guarded(address, () => realpath(address));
    if (!isInside(this.#root, real)) throw linkError(address, `leads to ${real}, outside of the checkpoint`);
    const stats = await guarded(address, () => stat(real, { bigint: true }));
    if (stats.isDirectory()) {
      if (chain.includes(real)) throw linkError(address, `leads back to ${real}, which it is in`);
      await this.#enter(real, path, [...chain, real]);
    } else if (stats.isFile()) {
      this.#add(listed(path, real, stats));
    } else throw specialFileError(address, stats);
  }

  #countDirectory(): void {
    const most = Math.max(MOST_DIRECTORIES, this.#options.maxFiles);
    this.#directories += 1;
    if (this.#directories <= most) return;
    const found = `${this.#root} leads through more than ${most} directories, each counted once for every link that leads to it`;
    const remedy = 'name the checkpoint itself, not a directory around it, and put directories in the place of links to them';
    throw new InputError('checkpoint.too-many-directories', `checkpoint: ${found}; ${remedy}`);
  }

  #add(file: ListedFile): void {
    const { maxFiles } = this.#options;
    if (this.#files.length >= maxFiles) {
      const remedy = 'name the checkpoint itself, not a directory around it, or raise checkpoints.maxFiles';
      throw new InputError('checkpoint.too-many-files', `checkpoint: ${this.#root} holds more than ${maxFiles} files; ${remedy}`);
    }
    this.#files.push(file);
  }
}

function listed(path: string, address: string, stats: BigIntStats): ListedFile {
  const sinceChange = systemClock.date().getTime() - Number(stats.ctimeNs / 1_000_000n);
  return { path, size: Number(stats.size), address, revision: revisionOf(stats), isSettled: sinceChange > SETTLED_MILLISECONDS };
}

/** The change time is the kernel's own and cannot be set back, as a copy that keeps modification times would do. */
function revisionOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `device ${dev} inode ${ino} size ${size} modified ${mtimeNs} changed ${ctimeNs}`;
}

/** Does not wait for a writer if a fifo has taken the file's place, nor follow a link that has. */
async function openListed(file: ListedFile): Promise<FileHandle> {
  try {
    return await open(file.address, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') throw new CheckpointChangedError(file.address, 'it is gone');
    if (code === 'ELOOP' || code === 'ENXIO') throw new CheckpointChangedError(file.address, 'something else took its place');
    throw readError(file.address, error);
  }
}

async function assertUnchanged(handle: FileHandle, file: ListedFile): Promise<void> {
  const opened = await guarded(file.address, () => handle.stat({ bigint: true }));
  const named = await stat(file.address, { bigint: true }).catch((error: unknown) => {
    throw errorCode(error) === 'ENOENT' ? new CheckpointChangedError(file.address, 'it is gone') : readError(file.address, error);
  });
  for (const stats of [opened, named]) {
    const revision = revisionOf(stats);
    if (revision !== file.revision) throw new CheckpointChangedError(file.address, `was ${file.revision}, is ${revision}`);
  }
}

async function guarded<Value>(address: string, operation: () => Promise<Value>): Promise<Value> {
  try {
    return await operation();
  } catch (error) {
    throw readError(address, error);
  }
}

function readError(address: string, error: unknown): MusterError {
  if (error instanceof MusterError) return error;
  switch (errorCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new InputError('checkpoint.missing', `checkpoint: ${address} does not exist; check the path`, { cause: error });
    case 'EACCES':
    case 'EPERM':
      return new InputError('checkpoint.unreadable', `checkpoint: ${address} may not be read by this user; grant read permission`, {
        cause: error,
      });
    case 'ELOOP':
      return linkError(address, 'is a symbolic link that leads to itself');
    default:
      return new InfrastructureError('checkpoint.read', `checkpoint: reading ${address} failed: ${messageOf(error)}`, { cause: error });
  }
}

function linkError(address: string, found: string): InputError {
  return new InputError('checkpoint.link', `checkpoint: ${address} ${found}; put the file itself in its place (cp -L)`);
}

function specialFileError(address: string, stats: BigIntStats): InputError {
  const found = stats.isFIFO() ? 'a named pipe' : stats.isSocket() ? 'a socket' : 'a device';
  return new InputError('checkpoint.special', `checkpoint: ${address} is ${found}; expected regular files and directories`);
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
