import { open, rm } from 'node:fs/promises';
import { isDiskFull, getReason } from '../../../kernel/errno.ts';
import { InfrastructureError, InputError, type MusterError } from '../../../kernel/errors.ts';

/** How the store's errors describe a file that cannot be made or opened. */

/** The path does not exist, or this user may not write there: another path helps, and retrying does not. */
const WRONG_PATH: ReadonlySet<unknown> = new Set(['EACCES', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENOENT', 'ENOTDIR', 'EPERM', 'EROFS']);
/** SQLite's codes, whose low byte gives the kind. */
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;

const ELSEWHERE = 'name a file that this user may write to (store.url), or a directory for it (stateDir)';

/** Translates the operating system's error when the file cannot be made. */
export function createNotMadeError(path: string, error: unknown): MusterError {
  if (isDiskFull(error)) return createFullDiskError(path, error);
  const problem = `${path} cannot be made: ${getReason(error, path)}`;
  if (error instanceof Error && 'code' in error && WRONG_PATH.has(error.code))
    return new InputError('store.unusable', `${problem}; ${ELSEWHERE}`, { cause: error });
  return new InfrastructureError('store.failed', problem, { cause: error });
}

/** Translates SQLite's error when the file cannot be opened. It does not say why a file beside it could not be made, so this tries to make one. */
export async function createNotOpenedError(path: string, message: string, code: number | undefined): Promise<MusterError> {
  const problem = `${path} cannot be used as a SQLite database: ${message}`;
  switch (getKind(code)) {
    case SQLITE_FULL:
      return createFullDiskError(path);
    case SQLITE_IOERR:
      return new InfrastructureError('store.failed', problem);
    case SQLITE_CANTOPEN:
      return (await isFullBeside(path)) ? createFullDiskError(path) : new InputError('store.unusable', `${problem}; ${ELSEWHERE}`);
    default:
      return new InputError('store.unusable', `${problem}; ${ELSEWHERE}`);
  }
}

/** Whether SQLite's code says that the disk is full. */
export function isFull(code: number | undefined): boolean {
  return getKind(code) === SQLITE_FULL;
}

function getKind(code: number | undefined): number | undefined {
  return code === undefined ? undefined : code & 0xff;
}

async function isFullBeside(path: string): Promise<boolean> {
  const probe = `${path}-probe-${process.pid}`;
  try {
    await using _file = await open(probe, 'wx');
    return false;
  } catch (error) {
    return isDiskFull(error);
  } finally {
    await rm(probe, { force: true });
  }
}

export function createFullDiskError(path: string, cause?: unknown): InfrastructureError {
  const remedy = 'free some, or name a file on a larger disk (store.url, stateDir)';
  return new InfrastructureError('store.full', `no space left for the store in ${path}; ${remedy}`, { cause });
}
