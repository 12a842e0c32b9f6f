import type { Digest } from '../../kernel/ids.ts';

/** Returns those of the files on which an uploader may build. All others are invisible to it, even if they are stored. */
export type UsableFiles = (digests: readonly Digest[]) => Promise<ReadonlySet<Digest>>;
