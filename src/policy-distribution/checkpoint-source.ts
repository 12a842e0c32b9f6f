import { InputError } from '../kernel/errors.ts';
import type { CheckpointKind } from './checkpoint.ts';

/**
 * Where checkpoints are read from: the file system, an object store, a web server. A source says what there is and hands out
 * bytes; naming, verifying and keeping them is the store's part.
 *
 * Errors of both methods: `InputError` for what the caller can mend (`checkpoint.missing`, `checkpoint.unreadable`,
 * `checkpoint.link`, `checkpoint.special`, `checkpoint.path`, `checkpoint.too-many-files`, `checkpoint.too-many-directories`, `checkpoint.changed`);
 * `InfrastructureError` (`checkpoint.read`) when the disk or service failed. Each names the file.
 */
export interface CheckpointSource {
  /** The files behind `uri`, in any order. A listing without files is one: whether that is an error is not for the source to say. */
  list(uri: string, options: ListOptions): Promise<CheckpointListing>;
  /**
   * The bytes of a listed file, from the first to the last, read as they are asked for. Leaving the iteration early releases
   * what it holds.
   *
   * @param buffer that the bytes may be read into, again and again: each piece is then good until the next is asked for.
   * @throws CheckpointChangedError when the file is no longer the one that was listed, also when it changes under the read.
   */
  read(file: ListedFile, signal: AbortSignal, buffer?: Uint8Array<ArrayBuffer>): AsyncIterable<Uint8Array>;
  /**
   * As `read`, from a byte on, for a look at a part of a large file: digests that are announced are not held against it, nor is it seen at the end
   * whether the file has changed. Left out where all bytes have to be read to get to one.
   */
  readFrom?(file: ListedFile, from: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface ListOptions {
  readonly signal: AbortSignal;
  /** Listing stops with an error beyond this, so that a wrong path (`/`) costs little. */
  readonly maxFiles: number;
  /** Paths (relative, of files and directories) to leave out with all that is below. */
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
  /** Where the source finds the file again, and how people know it: an absolute path or URL. */
  readonly address: string;
  /** Differs whenever the content may differ: a generation, an entity tag, times and numbers of a file. */
  readonly revision: string;
  /** Whether any change from now on makes another revision, however soon it comes: only then need a file that was read not be read again. */
  readonly isSettled?: boolean;
  /** Whether `address` and `revision` name an object of a bucket, to which others may be given a link. */
  readonly isInBucket?: boolean;
}

/** The writer was not done, or another one came: whatever was read is no checkpoint. */
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
