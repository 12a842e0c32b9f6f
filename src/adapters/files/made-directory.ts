import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { getErrorCode } from '../../kernel/errno.ts';

/**
 * Makes a directory and missing parents. Node's `mkdir` with `recursive` never returns where a file system cannot hold directories, as below /proc.
 *
 * @param mode of everything that it makes, less the umask. @returns the outermost directory that it has made; undefined when the directory existed.
 * @throws the operating system's error.
 */
export async function makeDirectory(path: string, mode = 0o777): Promise<string | undefined> {
  const wanted = resolve(path);
  const attempt = await makeOne(wanted, mode);
  if (attempt.kind === 'done') return attempt.made;
  const outermost = await makeDirectory(dirname(wanted), mode);
  // Another process may have made it meanwhile, or removed its parent again: the second attempt decides.
  await mkdir(wanted, { mode }).catch(async (error: unknown) => assertDirectory(wanted, error));
  return outermost ?? wanted;
}

type Attempt = { readonly kind: 'done'; readonly made: string | undefined } | { readonly kind: 'no-parent' };

async function makeOne(path: string, mode: number): Promise<Attempt> {
  try {
    await mkdir(path, { mode });
    return { kind: 'done', made: path };
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT' && dirname(path) !== path) return { kind: 'no-parent' };
    await assertDirectory(path, error);
    return { kind: 'done', made: undefined };
  }
}

/** @throws the error unless there is a directory. */
async function assertDirectory(path: string, error: unknown): Promise<void> {
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isDirectory() !== true) throw error;
}
