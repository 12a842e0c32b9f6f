import { resolve } from 'node:path';
import { getMessage } from './errors.ts';

/** Returns the code of a system error, such as `ENOENT`; undefined for anything else. */
export function getErrorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Whether something thrown is a system error with one of these codes. */
export function hasErrno(error: unknown, ...codes: readonly string[]): boolean {
  const code = getErrorCode(error);
  return typeof code === 'string' && codes.includes(code);
}

/** Handles errors in `catch`: returns undefined for a missing file, and throws every other error again. */
export function ignoreMissing(error: unknown): undefined {
  if (hasErrno(error, 'ENOENT')) return undefined;
  throw error;
}

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** Whether the operating system refused to write because the disk, a quota or a file's size limit is full. */
export function isDiskFull(error: unknown): boolean {
  return hasErrno(error, ...FULL);
}

/** Says why work on a path failed, for a message that names the path itself: Node's own message would name it again. */
export function getReason(error: unknown, path: string): string {
  const message = getMessage(error);
  const isOfPath = error instanceof Error && 'path' in error && typeof error.path === 'string' && resolve(error.path) === resolve(path);
  return isOfPath ? message.replace(/, \w+ '.*$/s, '') : message;
}
