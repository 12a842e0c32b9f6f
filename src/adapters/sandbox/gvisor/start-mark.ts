import { Transform, type TransformCallback } from 'node:stream';

/**
 * A program's output without its first byte, which is not the program's: it says that the sandbox stands. runsc passes no
 * further descriptor into a sandbox on which to say it.
 */
export class StartMark extends Transform {
  /** Resolves with true when the mark has come, with false when the output ends without it. */
  readonly seen: Promise<boolean>;
  readonly #tell: (isStarted: boolean) => void;
  #isSeen = false;

  constructor() {
    super();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.seen = promise;
    this.#tell = resolve;
    this.once('close', () => resolve(false));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    if (this.#isSeen) return callback(null, chunk);
    this.#isSeen = true;
    this.#tell(true);
    return chunk.length > 1 ? callback(null, chunk.subarray(1)) : callback();
  }
}
