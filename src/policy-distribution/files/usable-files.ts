import type { Digest } from '../../kernel/ids.ts';

/** Tells which of the files that are here an uploader may build on: others are not there for it, whatever the store has. */
export type UsableFiles = (digests: readonly Digest[]) => Promise<ReadonlySet<Digest>>;
