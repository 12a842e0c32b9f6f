import { constants, type BigIntStats } from 'node:fs';
import { open, readlink, realpath, stat, type FileHandle } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InputError, getMessage } from '../../kernel/errors.ts';
import { assertCheckpointPath } from '../../policy-distribution/checkpoint.ts';
import {
  CheckpointChangedError,
  type CheckpointListing,
  type CheckpointSource,
  type ListedFile,
  type ListOptions,
} from '../../policy-distribution/checkpoint-source.ts';
import { getDataFileName } from '../../policy-distribution/data-beside.ts';
import { DirectoryWalk } from './directory-walk.ts';
import { translateErrors, translateErrorsOfEach, toReadError, createSpecialFileError } from './file-failures.ts';
import { toListedFile, formatRevision } from './file-revision.ts';
import { LARGE_BYTES, readLarge } from './large-file.ts';
import { Roots } from './roots.ts';
import { getErrorCode } from '../../kernel/errno.ts';

/** Large enough that the disk is the limit, small enough that hashing one chunk delays no other work. */
const CHUNK_BYTES = 256 * 1024;

/** Reads checkpoints from this machine's files: a path (relative ones from the working directory) or a `file:` URL. */
export const filesystemSource: CheckpointSource = getSource();

/**
 * Creates the source for untrusted callers: it reads nothing outside of the roots, also not through links, and its errors do not reveal what exists
 * there.
 *
 * @param roots absolute paths of directories. @throws InputError `checkpoint.outside` also, from both methods of the source.
 */
export function createFilesystemSourceWithin(roots: readonly string[]): CheckpointSource {
  return getSource(new Roots(roots));
}

function getSource(roots?: Roots): CheckpointSource {
  return {
    async list(uri, options) {
      const given = parsePath(uri);
      await roots?.assertNamedInside(given);
      return listFiles(given, roots, options);
    },

    async *read(file, signal, given) {
      signal.throwIfAborted();
      await using handle = await openListed(file);
      // The file's real path according to the kernel: a link on the way may have changed since the listing.
      await roots?.assertInside(await translateErrors(file.address, () => readlink(`/proc/self/fd/${handle.fd}`)), file.address);
      await assertUnchanged(handle, file);
      const pieces = file.size < LARGE_BYTES ? readSmall(handle, given) : readLarge(handle, file.size);
      for await (const piece of translateErrorsOfEach(file.address, pieces)) {
        signal.throwIfAborted();
        yield piece;
      }
      await assertUnchanged(handle, file);
    },
  };
}

async function* readSmall(handle: FileHandle, given: Uint8Array | undefined): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { bytesRead, buffer } = await handle.read(given ?? Buffer.allocUnsafe(CHUNK_BYTES));
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function listFiles(given: string, roots: Roots | undefined, options: ListOptions): Promise<CheckpointListing> {
  const root = await translateErrors(given, () => realpath(given));
  await roots?.assertInside(root, given);
  const stats = await translateErrors(given, () => stat(root, { bigint: true }));
  if (stats.isDirectory()) return { kind: 'directory', files: await new DirectoryWalk(root, options).run() };
  const file = listSingleFile(given, root, stats);
  const beside = await listFileBeside(given, roots);
  return beside === undefined ? { kind: 'file', files: [file] } : { kind: 'directory', files: [file, beside] };
}

/** Lists a file beside the checkpoint, for a model whose weights are in that file. */
async function listFileBeside(given: string, roots: Roots | undefined): Promise<ListedFile | undefined> {
  const path = getDataFileName(given);
  if (path === undefined) return undefined;
  const root = await realpath(path).catch((error: unknown) => {
    if (getErrorCode(error) === 'ENOENT') return undefined;
    throw toReadError(path, error);
  });
  if (root === undefined) return undefined;
  await roots?.assertInside(root, path);
  return listSingleFile(path, root, await translateErrors(path, () => stat(root, { bigint: true })));
}

/** An empty path would resolve to the working directory. @throws InputError `checkpoint.path` */
export function assertPath(path: string): string {
  if (path !== '') return path;
  throw new InputError('checkpoint.path', 'checkpoint: its path is empty; is a variable in it not set?');
}

function parsePath(uri: string): string {
  if (!/^file:/i.test(uri)) return resolve(assertPath(uri));
  try {
    return fileURLToPath(uri);
  } catch (error) {
    throw new InputError(
      'checkpoint.path',
      `checkpoint: ${uri} names no file of this machine (${getMessage(error)}); expected file:///absolute/path`,
    );
  }
}

function listSingleFile(given: string, root: string, stats: BigIntStats): ListedFile {
  const path = basename(given);
  assertCheckpointPath(path);
  if (!stats.isFile()) throw createSpecialFileError(given, stats);
  return toListedFile(path, root, stats);
}

/** Neither waits for a writer if a fifo has replaced the file, nor follows a link that has. */
async function openListed(file: ListedFile): Promise<FileHandle> {
  try {
    return await open(file.address, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    const code = getErrorCode(error);
    if (code === 'ENOENT') throw new CheckpointChangedError(file.address, 'it is gone');
    if (code === 'ELOOP' || code === 'ENXIO') throw new CheckpointChangedError(file.address, 'it was replaced during the read');
    throw toReadError(file.address, error);
  }
}

async function assertUnchanged(handle: FileHandle, file: ListedFile): Promise<void> {
  const opened = await translateErrors(file.address, () => handle.stat({ bigint: true }));
  const named = await stat(file.address, { bigint: true }).catch((error: unknown) => {
    throw getErrorCode(error) === 'ENOENT' ? new CheckpointChangedError(file.address, 'it is gone') : toReadError(file.address, error);
  });
  for (const stats of [opened, named]) {
    const revision = formatRevision(stats);
    if (revision !== file.revision) throw new CheckpointChangedError(file.address, `was ${file.revision}, is ${revision}`);
  }
}
