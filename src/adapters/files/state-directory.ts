import { access, constants, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { isDiskFull, ignoreMissing, getReason } from '../../kernel/errno.ts';
import { InfrastructureError, InputError, type MusterError } from '../../kernel/errors.ts';
import { formatBytes } from '../../kernel/text/figures.ts';
import { makeDirectory } from './made-directory.ts';

/** The subdirectories, each for one purpose. Existing ones have to be writable, too: another user may have made them. */
const STORE = ['checkpoints', 'holds', 'incoming', 'objects', 'packed', 'unsynced', 'withdrawn'];
const PARTS = ['', 'sandboxes', 'uploads', 'store', ...STORE.map((name) => join('store', name))];

/**
 * Makes the state directory unless it exists.
 *
 * @throws InputError `config.state-dir` when this user can never have it there; InfrastructureError `store.full` when the disk is full.
 */
export async function openStateDirectory(stateDir: string): Promise<void> {
  try {
    await makeDirectory(stateDir);
    for (const part of PARTS) await assertWritable(join(stateDir, part));
  } catch (error) {
    throw describeUnusable(stateDir, error);
  }
}

async function assertWritable(path: string): Promise<void> {
  await access(path, constants.R_OK | constants.W_OK | constants.X_OK).catch(ignoreMissing);
}

function describeUnusable(stateDir: string, error: unknown): MusterError {
  if (isDiskFull(error))
    return new InfrastructureError('store.full', `stateDir: no space left for ${stateDir}; free some, or set stateDir to a larger disk`, {
      cause: error,
    });
  const remedy = 'give all of it to this user, or set stateDir (MUSTER_STATE_DIR) to a directory that this user may write to';
  return new InputError('config.state-dir', `stateDir: ${stateDir} cannot be used: ${getReason(error, stateDir)}; ${remedy}`, {
    cause: error,
  });
}

/** With less free space, the next checkpoint or batch of episodes may not fit. */
const LEAST_FREE_BYTES = 32 * 2 ** 20;

/** Returns why nothing new should be stored there; undefined when there is room. @throws the operating system's error. */
export async function findLackOfSpace(stateDir: string): Promise<string | undefined> {
  const { bavail, bsize, files, ffree } = await statfs(stateDir);
  const free = bavail * bsize;
  if (free < LEAST_FREE_BYTES)
    return `${formatBytes(free)} free at ${stateDir}, expected ${formatBytes(LEAST_FREE_BYTES)} or more; free some, or set stateDir to a larger disk`;
  return files > 0 && ffree === 0
    ? `no further file can be made at ${stateDir}: its file system has no inodes left; remove some files`
    : undefined;
}
