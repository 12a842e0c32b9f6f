import type { Answer, Order, ReadingKind } from './readings.ts';

/** The messages between a process and the thread that reads one file for it. */

/** Starts the thread. */
export interface ThreadOrder<Kind extends ReadingKind> {
  readonly kind: Kind;
  readonly order: Order<Kind>;
}

export type ThreadReply<Kind extends ReadingKind> =
  /** The thread waits for these bytes of the file: they are the next message to it. */
  | { readonly says: 'wants'; readonly position: number; readonly length: number }
  | { readonly says: 'read'; readonly answer: Answer<Kind> }
  /** An InputError of the reader. */
  | { readonly says: 'refused'; readonly code: string; readonly message: string }
  /** A delta is none. */
  | { readonly says: 'malformed'; readonly problem: string }
  | { readonly says: 'failed'; readonly message: string };
