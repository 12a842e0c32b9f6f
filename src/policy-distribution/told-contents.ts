import type { Digest } from '../kernel/ids.ts';

/** A file as what differs from another, ready to be sent. */
export interface ToldContent {
  readonly digest: Digest;
  /** What it is told by. */
  readonly base: Digest;
  /** Of the delta. */
  readonly bytes: number;
  readonly path: string;
}
