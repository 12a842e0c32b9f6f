import type { Readable, Writable } from 'node:stream';

/**
 * A program for in-memory sandboxes: a function in place of a process. It returns its exit code; what it throws is written to
 * stderr, and its code is then 1.
 */
export type Program = (io: ProgramIo) => Promise<number>;

export interface ProgramIo {
  /** The template's command; the first word named the program. */
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Aborted when the sandbox ends. A function cannot be killed, so a program that waits for anything must heed it. */
  readonly signal: AbortSignal;
  /** Reads an upload, or a file below one of the template's mounts. @throws when there is none. */
  readFile(path: string): Promise<Uint8Array>;
}
