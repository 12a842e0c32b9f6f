import type { SandboxLimits } from '../../../../pool/ports/template.ts';

const PAGE_BYTES = 4096;
/** Least that leaves a page for each of the two file systems: tmpfs takes 0 for "as much as you like". */
export const DISK_MIN_BYTES = 2 * PAGE_BYTES;

/**
 * A quarter of the disk limit is shared memory, the rest /tmp; both in whole pages, so that the sum stays within the limit.
 * Files there are memory to the kernel, so they count towards the memory limit too.
 *
 * @param directories how many share the rest: /tmp and others like it. Each has `tmpBytes`.
 */
export function divideWritableSpace(
  { diskBytes }: SandboxLimits,
  directories = 1,
): { readonly tmpBytes: number; readonly sharedBytes: number } {
  const pages = Math.floor(diskBytes / PAGE_BYTES);
  const shared = Math.max(1, Math.floor(pages / 4));
  return { tmpBytes: Math.max(1, Math.floor((pages - shared) / directories)) * PAGE_BYTES, sharedBytes: shared * PAGE_BYTES };
}
