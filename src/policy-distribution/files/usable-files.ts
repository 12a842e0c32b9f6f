import type { Digest } from '../../kernel/ids.ts';

/** Which of the stored files an uploader may build on: all others are invisible to it, whatever the store has. */
export type UsableFiles = (digests: readonly Digest[]) => Promise<ReadonlySet<Digest>>;
