import { open, readdir, readFile } from 'node:fs/promises';
import { hasErrno } from '../../../../kernel/errno.ts';

/**
 * File descriptors that Muster was started with beyond the standard three, such as a log or a lock of the shell that started it. Children inherit
 * them unless they are covered, and no mount namespace hides what an open descriptor refers to.
 */
export interface DescriptorCover {
  /** Entries for `spawn`'s stdio from descriptor 5 on: /dev/null over each inherited one. */
  readonly stdio: readonly (number | 'ignore')[];
  close(): Promise<void>;
}

/** Descriptors 0 to 4 are replaced by pipes in any case. */
const FIRST = 5;
/** O_CLOEXEC, in the octal notation of /proc/self/fdinfo. Descriptors that Node opens have it. */
const CLOSE_ON_EXEC = 0o2000000;

export async function coverDescriptors(): Promise<DescriptorCover> {
  const inherited: number[] = [];
  for (const name of await readdir('/proc/self/fdinfo')) {
    if (Number(name) >= FIRST && (await isInherited(name))) inherited.push(Number(name));
  }
  if (inherited.length === 0) return { stdio: [], close: () => Promise.resolve() };
  const nothing = await open('/dev/null', 'r+');
  const length = Math.max(...inherited) + 1 - FIRST;
  const stdio = Array.from({ length }, (_, i) => (inherited.includes(i + FIRST) ? nothing.fd : ('ignore' as const)));
  return { stdio, close: () => nothing.close() };
}

async function isInherited(name: string): Promise<boolean> {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(await readFile(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch (error) {
    // The descriptor that listed the directory is closed by now.
    if (hasErrno(error, 'ENOENT')) return false;
    throw error;
  }
}
