import type { Digest } from '../../kernel/ids.ts';
import type { RetainedCheckpoint } from './retention.ts';
import type { StoredContent } from './stored-contents.ts';

/** A file that could be stored as a delta. */
export interface Packable {
  readonly digest: Digest;
  /** Path in its checkpoint: the suffix gives the format. */
  readonly path: string;
  readonly checkpoint: Digest;
  /** Candidates for its base, the likeliest first; empty when it has a delta already. */
  readonly bases: readonly { readonly digest: Digest; readonly path: string }[];
}

/** A delta of a smaller file saves little and costs a file. */
const WORTH_PACKING_BYTES = 2 ** 16;
/** The next newer files of its size that are tried: of several runs, one is likely the same. */
const MOST_BASES = 3;
/**
 * The largest number of deltas through which a file is read. Each costs reading and applying it; a file that would need more is stored whole, and is
 * the base of those before it.
 */
export const MOST_DELTAS = 16;

/**
 * Finds which files could be stored as deltas, those of the least recently used checkpoint first. The base of each is a file that was used later:
 * recently used files stay whole, and a file that is removed early is no other file's base.
 */
export function findPackable(kept: readonly RetainedCheckpoint[], contents: ReadonlyMap<Digest, StoredContent>): readonly Packable[] {
  const byUse = [...kept].sort((a, b) => a.usedMs - b.usedMs);
  const needed = new Set(kept.filter(({ isNeeded }) => isNeeded).flatMap(({ files }) => files.map(({ digest }) => digest)));
  const seen = new Set<Digest>();
  return byUse.flatMap(({ digest: checkpoint, files }, i) =>
    files.flatMap(({ digest, path, size }) => {
      const content = contents.get(digest);
      if (seen.has(digest) || needed.has(digest) || content?.isPlain !== true || size < WORTH_PACKING_BYTES) return [];
      seen.add(digest);
      if (content.base !== undefined) return [{ digest, path, checkpoint, bases: [] }];
      const later = byUse.slice(i + 1).flatMap((other) => other.files.filter((file) => file.size === size && file.digest !== digest));
      const bases = later.filter((base) => mayBePacked(digest, base.digest, contents)).slice(0, MOST_BASES);
      return bases.length > 0 ? [{ digest, path, checkpoint, bases }] : [];
    }),
  );
}

/** Whether the one can become the base of the other without any file being read through too many deltas, or through itself. */
export function mayBePacked(digest: Digest, base: Digest, contents: ReadonlyMap<Digest, StoredContent>): boolean {
  const way = findWayDown(base, contents);
  return way !== undefined && !way.includes(digest) && countDeltasAbove(digest, contents) + way.length <= MOST_DELTAS;
}

/**
 * Lists a file, the base of its delta, the base of that, and so on; undefined when a base is missing. A file that is stored both whole and as a delta
 * counts as a delta, because its whole form may be removed.
 */
function findWayDown(digest: Digest, contents: ReadonlyMap<Digest, StoredContent>): readonly Digest[] | undefined {
  const way: Digest[] = [];
  for (let at: Digest | undefined = digest; at !== undefined;) {
    const content: StoredContent | undefined = contents.get(at);
    if (!content || way.includes(at)) return undefined;
    way.push(at);
    at = content.base;
  }
  return way;
}

/** Whether a file could be rebuilt if it were not there as it is. */
export function isDeltaEncoded(digest: Digest, contents: ReadonlyMap<Digest, StoredContent>): boolean {
  const seen = new Set([digest]);
  for (let at = contents.get(digest)?.base; at !== undefined && !seen.has(at); at = contents.get(at)?.base) {
    if (contents.get(at)?.isPlain === true) return true;
    seen.add(at);
  }
  return false;
}

/** Counts the longest chain of deltas on top of a file. */
function countDeltasAbove(digest: Digest, contents: ReadonlyMap<Digest, StoredContent>): number {
  let above = 0;
  for (const [other, { base }] of contents) if (base === digest) above = Math.max(above, 1 + countDeltasAbove(other, contents));
  return above;
}
