import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { SUBMISSION_BOUNDS } from '../../agents/grading/submission.ts';
import type { WorkspaceFile } from '../../agents/workspace/command.ts';
import { hasErrno } from '../../kernel/errno.ts';
import { InputError } from '../../kernel/errors.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';

/** Files of a root file system that are in the workdir at the beginning. */
const WORKDIR_BOUNDS = SUBMISSION_BOUNDS;
/** The number of links that Linux follows in one path. */
const MOST_LINKS = 40;
const TOO_MUCH = 'is more than a workdir may have';

/**
 * Lists the files of a root file system below a directory, with their paths inside: a writable directory hides them. In place of a link stands a copy
 * of what it names in this root, since a submission holds no links.
 *
 * @throws InputError `image.workdir` for a link that names nothing or a directory around it, and for more than a workdir may have.
 */
export async function listFilesBelow(root: string, directory: string): Promise<readonly WorkspaceFile[]> {
  const files: WorkspaceFile[] = [];
  let bytes = 0;
  let directories = 0;
  const takeFile = async (path: string, place: string): Promise<void> => {
    const { size, mode } = await lstat(join(root, place));
    bytes += size;
    if (files.length === WORKDIR_BOUNDS.files || bytes > WORKDIR_BOUNDS.bytes) throw findWorkdirProblem(path, TOO_MUCH);
    files.push({ path, content: await readFile(join(root, place)), executable: (mode & 0o100) !== 0 });
  };
  /** @param place of what is at `path`, without links. @param around the places of the directories that lead there. */
  const take = async (path: string, place: string, around: readonly string[]): Promise<void> => {
    directories += 1;
    // A few directories without files, of which each has two links to the next, would make very many.
    if (directories > WORKDIR_BOUNDS.files) throw findWorkdirProblem(path, TOO_MUCH);
    if (around.includes(place)) throw findWorkdirProblem(path, 'is a link to a directory that contains it');
    for (const name of (await readdir(join(root, place))).sort()) {
      const inside = `${path}/${name}`;
      const target = await resolveLinks(root, place, name);
      if (target === undefined) throw findWorkdirProblem(inside, 'is a link to nothing in the image');
      if (target.isDirectory) await take(inside, target.path, [...around, place]);
      else await takeFile(inside, target.path);
    }
  };
  const top = await resolveLinks(root, '/', directory);
  if (top?.isDirectory) await take(directory, top.path, []);
  return files;
}

/**
 * Follows links as a program does whose root directory is this root: an absolute target begins there, and ".." does not leave it.
 *
 * @param from a directory, without links. @returns the path without links; undefined where there is nothing, or more links than Linux follows.
 */
async function resolveLinks(root: string, from: string, path: string): Promise<Place | undefined> {
  const left = path.split('/');
  let reached: Place = { path: from, isDirectory: true };
  let links = 0;
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    const next = posix.join(reached.path, name);
    const found = await lstat(join(root, next)).catch(allowMissing);
    if (found === undefined) return undefined;
    if (!found.isSymbolicLink()) reached = { path: next, isDirectory: found.isDirectory() };
    else {
      links += 1;
      if (links > MOST_LINKS) return undefined;
      const target = await readlink(join(root, next));
      if (target.startsWith('/')) reached = { path: '/', isDirectory: true };
      left.unshift(...target.split('/'));
    }
  }
  return reached;
}

interface Place {
  readonly path: string;
  /** Whether it is a directory; else it is a file, as a layer with anything else is not unpacked. */
  readonly isDirectory: boolean;
}

function allowMissing(error: unknown): undefined {
  if (!hasErrno(error, 'ENOENT') && !hasErrno(error, 'ENOTDIR')) throw error;
}

function findWorkdirProblem(path: string, problem: string): InputError {
  const { files, bytes } = WORKDIR_BOUNDS;
  const remedy = `expected up to ${files} files in as many directories, ${formatExactBytes(bytes)}, and links to what is there; remove it in a Dockerfile, or move it out of the workdir`;
  return new InputError('image.workdir', `${escapeUnprintableLine(path)} of the image ${problem}; ${remedy}`);
}
