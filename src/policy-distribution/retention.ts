import type { Digest } from '../kernel/ids.ts';

/** A checkpoint, as far as it matters for whether it stays. */
export interface Kept {
  readonly digest: Digest;
  /** Of its files; several checkpoints may have one in common. */
  readonly files: readonly { readonly digest: Digest; readonly size: number }[];
  /** Milliseconds since 1970. */
  readonly usedMs: number;
  /** In use, or about to be. */
  readonly isNeeded: boolean;
}

/**
 * Which checkpoints have to go so that the files of all others fit: the least recently used ones that nobody needs. What is needed stays, also
 * when it does not fit.
 */
export function toForget(kept: readonly Kept[], maxBytes: number): readonly Digest[] {
  const uses = new Map<Digest, number>();
  let bytes = 0;
  for (const { digest, size } of kept.flatMap(distinctFiles)) {
    const count = uses.get(digest) ?? 0;
    if (count === 0) bytes += size;
    uses.set(digest, count + 1);
  }
  const forgotten: Digest[] = [];
  for (const one of kept.filter(({ isNeeded }) => !isNeeded).sort((a, b) => a.usedMs - b.usedMs)) {
    if (bytes <= maxBytes) break;
    forgotten.push(one.digest);
    for (const { digest, size } of distinctFiles(one)) {
      const count = (uses.get(digest) ?? 0) - 1;
      uses.set(digest, count);
      if (count === 0) bytes -= size;
    }
  }
  return forgotten;
}

function distinctFiles({ files }: Kept): readonly Kept['files'][number][] {
  return [...new Map(files.map((file) => [file.digest, file])).values()];
}
