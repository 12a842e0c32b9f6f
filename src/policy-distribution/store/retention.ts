import type { Digest } from '../../kernel/ids.ts';
import type { StoredContent } from './stored-contents.ts';

/** A checkpoint, as far as it matters for whether it stays. */
export interface RetainedCheckpoint {
  readonly digest: Digest;
  /** Of its files; several checkpoints may have one in common. */
  readonly files: readonly { readonly path: string; readonly digest: Digest; readonly size: number }[];
  /** Milliseconds since 1970. */
  readonly usedMs: number;
  /** In use, or about to be. */
  readonly isNeeded: boolean;
}

/**
 * Which checkpoints have to go so that the files of all others fit: the least recently used ones that are not needed. What is needed stays, also
 * when it does not fit.
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

/** Files, and the bases of those that are kept as deltas. */
export function listContents(
  files: readonly { readonly digest: Digest }[],
  contents: ReadonlyMap<Digest, Pick<StoredContent, 'base'>>,
): ReadonlySet<Digest> {
  const all = new Set<Digest>();
  for (const { digest } of files)
    for (let at: Digest | undefined = digest; at !== undefined && !all.has(at); at = contents.get(at)?.base) all.add(at);
  return all;
}
