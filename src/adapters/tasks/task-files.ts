import { createHash } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { isReadWhole, TASK_BOUNDS, type TaskDirectory } from '../../agents/tasks/task-directory.ts';
import { isPlainPath, RELATIVE_PATH_EXPECTED } from '../../agents/tasks/relative-path.ts';
import type { TaskFile } from '../../agents/tasks/task.ts';
import { getReason } from '../../kernel/errno.ts';
import { InputError } from '../../kernel/errors.ts';
import { parseDigest } from '../../kernel/ids.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';

const EXECUTABLE = 0o100;
/** Bytes of a file that are in memory at a time. */
const PIECE_BYTES = 2 ** 20;

/**
 * Reads a task's directory: every file's digest, and the text of declaring files. Links are refused: their targets are not part of the task, and a
 * sandbox would see something else there.
 *
 * @throws InputError `task.missing`, `task.unsafe`, `task.too-large`, naming the path.
 */
export async function readTaskDirectory(path: string): Promise<TaskDirectory> {
  const top = resolve(path);
  const files: TaskFile[] = [];
  const contents = new Map<string, Uint8Array>();
  const bounds = { bytes: 0 };
  for await (const inside of listRegularFiles(path, top, '', 0)) {
    if (files.length === TASK_BOUNDS.files) throw createTooLargeError(path, `has more than ${TASK_BOUNDS.files} files`);
    const { file, bytes } = await readFile(path, join(top, inside), inside);
    bounds.bytes += file.bytes;
    if (bounds.bytes > TASK_BOUNDS.bytes) throw createTooLargeError(path, `has more than ${formatExactBytes(TASK_BOUNDS.bytes)}`);
    files.push(file);
    if (bytes !== undefined) contents.set(inside, bytes);
  }
  return { where: path, name: basename(top), files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), contents };
}

async function* listRegularFiles(where: string, top: string, inside: string, depth: number): AsyncGenerator<string> {
  if (depth > TASK_BOUNDS.depth) throw createTooLargeError(where, `has more than ${TASK_BOUNDS.depth} nested directories`);
  for (const entry of await listEntries(where, join(top, inside))) {
    const { name } = entry;
    const path = inside === '' ? name : `${inside}/${name}`;
    const shown = `${where}/${escapeUnprintableLine(path)}`;
    if (!isPlainPath(path)) throw new InputError('task.unsafe', `${shown}: ${RELATIVE_PATH_EXPECTED}; rename it`);
    if (entry.isDirectory()) yield* listRegularFiles(where, top, path, depth + 1);
    else if (entry.isFile()) yield path;
    else
      throw new InputError(
        'task.unsafe',
        `${shown}: it is ${entry.isSymbolicLink() ? 'a symbolic link' : 'not a regular file'}; expected files and directories only: put a copy there`,
      );
  }
}

async function listEntries(where: string, directory: string): Promise<readonly Dirent[]> {
  try {
    return (await readdir(directory, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    throw new InputError(
      'task.missing',
      `${where}: the task's directory cannot be read: ${getReason(error, directory)}; expected the directory of a task`,
      { cause: error },
    );
  }
}

async function readFile(
  where: string,
  path: string,
  inside: string,
): Promise<{ readonly file: TaskFile; readonly bytes: Uint8Array | undefined }> {
  // A file that became a link after it was listed is not followed.
  await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const status = await handle.stat();
  if (!status.isFile()) throw new InputError('task.unsafe', `${where}/${inside}: it changed while it was read; try again`);
  const isKept = isReadWhole(inside);
  if (isKept && status.size > TASK_BOUNDS.readBytes)
    throw createTooLargeError(
      where,
      `: ${inside} has ${formatExactBytes(status.size)}; such a file has at most ${formatExactBytes(TASK_BOUNDS.readBytes)}`,
    );
  const hash = createHash('sha256');
  const pieces: Buffer[] = [];
  let bytes = 0;
  let isOver = false;
  // A byte more than it has: reading less than requested is the end of the file.
  const room = Buffer.allocUnsafe(Math.min(status.size + 1, PIECE_BYTES));
  while (!isOver) {
    const { bytesRead } = await handle.read(room);
    const part = room.subarray(0, bytesRead);
    bytes += bytesRead;
    if (bytes > status.size) throw new InputError('task.unsafe', `${where}/${inside}: it changed while it was read; try again`);
    hash.update(part);
    if (isKept) pieces.push(Buffer.from(part));
    isOver = bytesRead < room.length;
  }
  const digest = parseDigest(`sha256:${hash.digest('hex')}`);
  const file = { path: inside, digest, bytes, isExecutable: (status.mode & EXECUTABLE) !== 0 };
  return { file, bytes: isKept ? Buffer.concat(pieces) : undefined };
}

function createTooLargeError(where: string, what: string): InputError {
  return new InputError('task.too-large', `${where}${what.startsWith(':') ? '' : ' '}${what}`);
}
