/** Whether something thrown is a system error with one of these codes, such as `ENOENT`. */
export function hasErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** Whether the operating system refused to write because the disk, a quota or a file's size limit is full. */
export function isDiskFull(error: unknown): boolean {
  return hasErrno(error, ...FULL);
}
