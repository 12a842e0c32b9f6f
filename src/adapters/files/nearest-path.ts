import { readdir, readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { InputError } from '../../kernel/errors.ts';
import { findNearest } from '../../kernel/documents/did-you-mean.ts';
import { isThere } from './path-contents.ts';

const MISSING: ReadonlySet<string> = new Set([
  'checkpoint.missing',
  'suite.missing',
  'batch.missing',
  'results.missing',
  'task.missing',
  'rollouts.missing',
]);

/**
 * Runs `work` on a path that a person has typed. When there is nothing at the path, the error names the nearest existing one. Only for a person on
 * this machine, as it reveals other files.
 */
export async function suggestNearest<Value>(path: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof InputError) || !MISSING.has(error.code)) throw error;
    const target = await readlink(path).catch(() => undefined);
    if (target !== undefined && !(await isThere(path)))
      throw new InputError(error.code, `${path} is a symbolic link to ${target}, which does not exist`, { cause: error });
    const meant = (await isThere(path)) ? undefined : await findNearestPath(path);
    throw meant === undefined ? error : new InputError(error.code, `${error.message}; did you mean ${meant}?`, { cause: error });
  }
}

/**
 * Finds the path with the nearest name in place of the first one that does not exist. The rest of the path follows where it exists below that name.
 */
async function findNearestPath(path: string, below = ''): Promise<string | undefined> {
  const directory = dirname(path);
  if (directory === path) return undefined;
  const names = await readdir(directory).catch(() => undefined);
  if (names === undefined) return findNearestPath(directory, join(basename(path), below));
  const name = basename(path);
  const longer = names.filter((each) => each.startsWith(`${name}.`));
  const meant = findNearest(name, names) ?? (longer.length === 1 ? longer[0] : undefined);
  if (meant === undefined) return undefined;
  const found = join(directory, meant);
  return below !== '' && (await isThere(join(found, below))) ? join(found, below) : found;
}
