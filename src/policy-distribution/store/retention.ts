import type { Digest } from '../../kernel/ids.ts';
import type { StoredContent } from './stored-contents.ts';

/** A checkpoint, with all that decides whether it is removed. */
export interface RetainedCheckpoint {
  readonly digest: Digest;
  /** Digests of its files; several checkpoints may share a file. */
  readonly files: readonly { readonly path: string; readonly digest: Digest; readonly size: number }[];
  /** Milliseconds since 1970. */
  readonly usedMs: number;
  /** Whether it is in use, or about to be. */
  readonly isNeeded: boolean;
}

/**
 * Chooses the checkpoints to remove so that the files of all others fit: the least recently used ones that are not needed. Needed checkpoints stay
 * even if they do not fit.
 */
export function chooseCheckpointsToRemove(
  kept: readonly RetainedCheckpoint[],
  contents: ReadonlyMap<Digest, Pick<StoredContent, 'bytes' | 'base'>>,
  maxBytes: number,
): readonly Digest[] {
  const uses = new Map<Digest, number>();
  let bytes = 0;
  for (const digest of kept.flatMap(({ files }) => Array.from(listContents(files, contents)))) {
    const count = uses.get(digest) ?? 0;
    if (count === 0) bytes += contents.get(digest)?.bytes ?? 0;
    uses.set(digest, count + 1);
  }
  const forgotten: Digest[] = [];
  for (const one of kept.filter(({ isNeeded }) => !isNeeded).sort((a, b) => a.usedMs - b.usedMs)) {
    if (bytes <= maxBytes) break;
    forgotten.push(one.digest);
    for (const digest of listContents(one.files, contents)) {
      const count = (uses.get(digest) ?? 0) - 1;
      uses.set(digest, count);
      if (count === 0) bytes -= contents.get(digest)?.bytes ?? 0;
    }
  }
  return forgotten;
}

/** Lists files, and the bases of those that are stored as deltas. */
export function listContents(
  files: readonly { readonly digest: Digest }[],
  contents: ReadonlyMap<Digest, Pick<StoredContent, 'base'>>,
): ReadonlySet<Digest> {
  const all = new Set<Digest>();
  for (const { digest } of files)
    for (let at: Digest | undefined = digest; at !== undefined && !all.has(at); at = contents.get(at)?.base) all.add(at);
  return all;
}
