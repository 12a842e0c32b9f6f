import type { BigIntStats } from 'node:fs';
import { systemClock } from '../../kernel/clock.ts';
import type { ListedFile } from '../../policy-distribution/checkpoint-source.ts';

/** Kernels and network file systems have clocks with steps of up to seconds: two changes within one may look like one. */
const SETTLED_MILLISECONDS = 3000;

export function toListedFile(path: string, address: string, stats: BigIntStats): ListedFile {
  const sinceChange = systemClock.date().getTime() - Number(stats.ctimeNs / 1_000_000n);
  return { path, size: Number(stats.size), address, revision: formatRevision(stats), isSettled: sinceChange > SETTLED_MILLISECONDS };
}

/** Names a file's version. Only the kernel sets the change time, so a copy that keeps the modification time does not hide a change. */
export function formatRevision({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `device ${dev} inode ${ino} size ${size} modified ${mtimeNs} changed ${ctimeNs}`;
}
