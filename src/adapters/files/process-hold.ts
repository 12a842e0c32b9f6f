import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import { makeDirectory } from './made-directory.ts';
import { IncomingNames } from '../../policy-distribution/files/incoming-names.ts';
import { ignoreMissing } from '../../kernel/errno.ts';

/**
 * Keeps other processes from using `path` until the hold is disposed or this process ends, however it ends. The hold is an empty file beside
 * the path, named `<path>.<purpose>.<this process>`. Holds of processes that have ended are removed.
 *
 * The file is written before the others are listed: two processes that come at the same time may both be refused, but never both succeed.
 *
 * @param refused makes the error for a path that another living process holds. @param other the path of its file.
 */
export async function holdPath(path: string, purpose: string, clock: Clock, refused: (other: string) => Error): Promise<AsyncDisposable> {
  const [directory, prefix] = [dirname(path), `${basename(path)}.${purpose}.`];
  const names = await IncomingNames.create(clock);
  await makeDirectory(directory);
  const own = `${prefix}${names.next()}`;
  await writeFile(join(directory, own), '', { flag: 'wx' });
  const release = (): Promise<void> => rm(join(directory, own), { force: true });
  try {
    for (const other of await readdir(directory)) {
      if (other === own || !other.startsWith(prefix)) continue;
      if (!(await isGone(join(directory, other), other.slice(prefix.length), names))) throw refused(join(directory, other));
      await rm(join(directory, other), { force: true });
    }
  } catch (error) {
    await release();
    throw error;
  }
  return { [Symbol.asyncDispose]: release };
}

async function isGone(path: string, owner: string, names: IncomingNames): Promise<boolean> {
  const facts = await stat(path).catch(ignoreMissing);
  return facts === undefined || (await names.isAbandoned(owner, facts.mtimeMs));
}
