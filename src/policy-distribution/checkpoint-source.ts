import { InputError } from '../kernel/errors.ts';
import type { CheckpointKind } from './checkpoint.ts';

/**
 * Reads checkpoints from one kind of place: the file system, an object store, a web server. A source lists files and reads their bytes; the store
 * names, verifies and stores them.
 *
 * Errors of both methods: `InputError` for what the caller can correct (`checkpoint.missing`, `checkpoint.unreadable`, `checkpoint.link`,
 * `checkpoint.special`, `checkpoint.path`, `checkpoint.too-many-files`, `checkpoint.too-many-directories`, `checkpoint.changed`);
 * `InfrastructureError` (`checkpoint.read`) when the disk or service failed. Each names the file.
 */
export interface CheckpointSource {
  /** Lists the files behind `uri`, in any order. An empty listing is valid; the caller decides whether that is an error. */
  list(uri: string, options: ListOptions): Promise<CheckpointListing>;
  /**
   * Reads the bytes of a listed file from the first to the last, on demand. Leaving the iteration early releases its resources.
   *
   * @param buffer that the bytes may be read into repeatedly: each piece is valid until the next one is requested. @throws CheckpointChangedError
   * when the file is no longer the listed one, also when it changes during the read.
   */
  read(file: ListedFile, signal: AbortSignal, buffer?: Uint8Array<ArrayBuffer>): AsyncIterable<Uint8Array>;
  /**
   * Reads like `read`, from a position on, to inspect a part of a large file: it neither checks announced digests nor notices at the end whether the
   * file has changed. It is left out where reaching a position means reading everything before it.
   */
  readFrom?(file: ListedFile, from: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface ListOptions {
  readonly signal: AbortSignal;
  /** Listing fails beyond this number, so that a wrong path (`/`) costs little. */
  readonly maxFiles: number;
  /** Whether to leave out a relative path of a file or directory, with all below it. */
  readonly ignores?: (path: string) => boolean;
}

export interface CheckpointListing {
  readonly kind: CheckpointKind;
  readonly files: readonly ListedFile[];
}

export interface ListedFile {
  /** Relative to the checkpoint, as in `CheckpointFile`. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** The source finds the file again by it, and people see it: an absolute path or URL. */
  readonly address: string;
  /** Differs whenever the content may differ: a generation, an entity tag, or a file's times and numbers. */
  readonly revision: string;
  /** Whether any later change gives another revision, however soon it comes. Only then a file that was read need not be read again. */
  readonly isSettled?: boolean;
  /** Whether `address` and `revision` name an object of a bucket, to which links can be given. */
  readonly isInBucket?: boolean;
}

/** The file was still being written or has been replaced: what was read is no checkpoint. */
export class CheckpointChangedError extends InputError {
  readonly address: string;

  constructor(address: string, found: string) {
    super(
      'checkpoint.changed',
      `checkpoint: ${address} changed while it was read: ${found}. Wait until the writer is done, then evaluate it again`,
    );
    this.address = address;
  }
}
