import { access, readdir } from 'node:fs/promises';
import { ignoreMissing } from '../../kernel/errno.ts';

export async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Lists the names of the directories in a directory. There are none when it does not exist. */
export async function listDirectoryNames(directory: string): Promise<readonly string[]> {
  const entries = (await readdir(directory, { withFileTypes: true }).catch(ignoreMissing)) ?? [];
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}
