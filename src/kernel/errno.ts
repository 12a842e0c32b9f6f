/** Whether something thrown is a system error with one of these codes, such as `ENOENT`. */
export function hasErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** Whether the operating system refused to write for want of space: on the disk, in a quota, in what one file may hold. */
export function isDiskFull(error: unknown): boolean {
  return hasErrno(error, ...FULL);
}
