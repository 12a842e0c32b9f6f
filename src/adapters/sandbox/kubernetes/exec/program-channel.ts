import type { Readable, Writable } from 'node:stream';

/** How a command in a container ended. */
export type ProgramEnd =
  | { readonly kind: 'exited'; readonly code: number }
  /** It could not be run, or its node could not report how it ended. */
  | { readonly kind: 'failed'; readonly detail: string }
  /** The connection is gone, and with it all that is known of the command. */
  | { readonly kind: 'dropped'; readonly detail: string };

/** The streams of one command in a container, over one connection. */
export interface ProgramChannel {
  /** When the program has closed its input, writes to this stream are discarded without an error. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects. All output can be read by then. */
  readonly ended: Promise<ProgramEnd>;
  /** Whether the other end of the connection answers before the signal is aborted. */
  answers(signal: AbortSignal): Promise<boolean>;
  /** Gives up the connection. The command's fate is its container's. */
  terminate(): void;
}
