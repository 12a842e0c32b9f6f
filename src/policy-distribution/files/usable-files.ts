import type { Digest } from '../../kernel/ids.ts';

/** Returns the stored files on which an uploader may build. All others are invisible to it. */
export type UsableFiles = (digests: readonly Digest[]) => Promise<ReadonlySet<Digest>>;
