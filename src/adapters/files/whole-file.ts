import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

interface HowWritten {
  /** Of the file; by default all may read it, and its owner may write it. */
  readonly mode?: number;
  /** Whether the content has to survive a crash of the machine. */
  readonly isSynced?: boolean;
}

/** Writes or replaces a file in one step: a reader sees all of the old content, or all of the new. */
export async function writeWholeFile(
  path: string,
  content: string | Uint8Array,
  { mode, isSynced = false }: HowWritten = {},
): Promise<void> {
  const incoming = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    await using file = await open(incoming, 'wx', mode);
    await file.writeFile(content);
    if (isSynced) await file.sync();
    await rename(incoming, path);
  } catch (error) {
    await rm(incoming, { force: true });
    throw error;
  }
}
