import { hasErrno } from './errno.ts';

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** Whether the operating system refused to write for want of space: on the disk, in a quota, in what one file may hold. */
export function isDiskFull(error: unknown): boolean {
  return hasErrno(error, ...FULL);
}
