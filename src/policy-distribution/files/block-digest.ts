import { createHash, type Hash } from 'node:crypto';
import { InfrastructureError } from '../../kernel/errors.ts';
import { parseDigest, type Digest } from '../../kernel/ids.ts';
import { allocateAligned } from './direct-files.ts';
import { resolveBeside } from '../../kernel/package-root.ts';
import { Thread } from '../../kernel/thread.ts';

/** Bytes of a block: reading and writing this much at once costs little more than copying it. */
export const BLOCK_BYTES = 2 ** 20;
/** One is filled, one is written, and some wait to be hashed while the disk pauses. */
const BLOCKS = 8;
/** Files of at least this size are hashed in a separate thread. Starting one takes as long as hashing some 60 MB. */
export const WORTH_A_THREAD_BYTES = 64 * 2 ** 20;

/** Messages to and from the thread. Buffers are transferred. */
export type DigestOrder = { readonly kind: 'block'; readonly buffer: ArrayBuffer; readonly length: number } | { readonly kind: 'end' };
export type DigestReply = { readonly kind: 'block'; readonly buffer: ArrayBuffer } | { readonly kind: 'digest'; readonly hex: string };

/** The SHA-256 of the data in its blocks: get a block, fill it, hand it back. The caller no longer owns a block that it has handed back. */
export interface BlockDigest extends AsyncDisposable {
  /** Waits while all blocks are still to be hashed. The caller has at most two at a time. */
  nextBlock(): Promise<Uint8Array<ArrayBuffer>>;
  /** @param length bytes at the block's beginning. */
  hash(block: Uint8Array<ArrayBuffer>, length: number): void;
  /** Call it once, after the last block. @throws InfrastructureError `store.unusable` when the thread has failed. */
  digest(): Promise<Digest>;
}

/** @param size expected bytes; they only decide how the work is done. */
export function createBlockDigest(size: number): BlockDigest {
  return size < WORTH_A_THREAD_BYTES ? new DigestHere() : new DigestInThread();
}

class DigestHere implements BlockDigest {
  readonly #hash: Hash = createHash('sha256');
  readonly #free: Uint8Array<ArrayBuffer>[] = [];

  async nextBlock(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#free.pop() ?? new Uint8Array(BLOCK_BYTES);
  }

  hash(block: Uint8Array<ArrayBuffer>, length: number): void {
    this.#hash.update(block.subarray(0, length));
    this.#free.push(block);
  }

  async digest(): Promise<Digest> {
    return parseDigest(`sha256:${this.#hash.digest('hex')}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** SHA-256 processes bytes in order, so one thread hashes a file; the gain is that reading and writing continue meanwhile. */
class DigestInThread implements BlockDigest {
  readonly #thread = new Thread(resolveBeside(import.meta.url, 'digest-thread'));
  readonly #free = Array.from({ length: BLOCKS }, () => allocateAligned(BLOCK_BYTES));
  readonly #digest = Promise.withResolvers<Digest>();
  #returned = Promise.withResolvers<void>();

  constructor() {
    const onFailure = (why: string): void => {
      const error = new InfrastructureError('store.unusable', `store: the thread that hashes files ended: ${why}; evaluate it again`);
      this.#digest.reject(error);
      this.#returned.reject(error);
    };
    for (const { promise } of [this.#digest, this.#returned]) promise.catch(() => undefined);
    this.#thread.on('message', (reply: DigestReply) => this.#take(reply));
    this.#thread.on('error', (error) => onFailure(error.message));
    this.#thread.on('exit', () => onFailure('before it was done'));
  }

  async nextBlock(): Promise<Uint8Array<ArrayBuffer>> {
    for (;;) {
      const buffer = this.#free.pop();
      if (buffer) return new Uint8Array(buffer);
      await this.#returned.promise;
    }
  }

  hash({ buffer }: Uint8Array<ArrayBuffer>, length: number): void {
    this.#post({ kind: 'block', buffer, length }, [buffer]);
  }

  digest(): Promise<Digest> {
    this.#post({ kind: 'end' });
    return this.#digest.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate();
  }

  #post(order: DigestOrder, moved: readonly ArrayBuffer[] = []): void {
    this.#thread.postMessage(order, [...moved]);
  }

  #take(reply: DigestReply): void {
    switch (reply.kind) {
      case 'block': {
        this.#free.push(reply.buffer);
        const returned = this.#returned;
        this.#returned = Promise.withResolvers<void>();
        this.#returned.promise.catch(() => undefined);
        return returned.resolve();
      }
      case 'digest':
        return this.#digest.resolve(parseDigest(`sha256:${reply.hex}`));
    }
  }
}
