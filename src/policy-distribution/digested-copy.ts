import type { FileHandle } from 'node:fs/promises';
import type { Digest } from '../kernel/ids.ts';
import { BLOCK_BYTES, blockDigest, type BlockDigest } from './block-digest.ts';
import { guarded, readInto, writeAll } from './store-files.ts';

export interface Digested {
  readonly digest: Digest;
  /** Bytes. */
  readonly size: number;
}

/** What has been written is sent on its way to the disk in such portions, so that at the end little is left to wait for. In bytes. */
const SYNCED_BYTES = 64 * 2 ** 20;

/**
 * Writes bytes into an empty file and hashes them on the way: what is hashed is what is written, from the same memory, and nothing is read again.
 * Reading, writing and hashing go on side by side.
 *
 * @param size that is expected, in bytes.
 * @param isSynced whether the file is to be synced right afterwards.
 * @throws InfrastructureError `store.full`, `store.unusable`; errors of `bytes` as they are.
 */
export async function copyInto(
  handle: FileHandle,
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  size: number,
  isSynced = true,
): Promise<Digested> {
  await using hash = blockDigest(size);
  const writer = new BlockWriter(handle, path, hash, isSynced ? SYNCED_BYTES : Infinity);
  let block = await hash.block();
  let filled = 0;
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length;) {
      const part = chunk.subarray(at, at + BLOCK_BYTES - filled);
      block.set(part, filled);
      [at, filled] = [at + part.length, filled + part.length];
      if (filled < BLOCK_BYTES) continue;
      await writer.write(block, filled);
      [block, filled] = [await hash.block(), 0];
    }
  }
  await writer.write(block, filled);
  const written = await writer.end();
  return { digest: await hash.digest(), size: written };
}

/** Hashes bytes that are kept nowhere. @param size that is expected. */
export async function digestOfPieces(bytes: AsyncIterable<Uint8Array>, size: number): Promise<Digested> {
  await using hash = blockDigest(size);
  let hashed = 0;
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; at += BLOCK_BYTES) {
      const part = chunk.subarray(at, at + BLOCK_BYTES);
      const block = await hash.block();
      block.set(part);
      hash.hash(block, part.length);
    }
    hashed += chunk.length;
  }
  return { digest: await hash.digest(), size: hashed };
}

/** Hashes a file where it lies. */
export async function digestOfFile(
  handle: FileHandle,
  path: string,
  size: number,
  onProgress: (bytes: number) => Promise<void>,
): Promise<Digested> {
  await using hash = blockDigest(size);
  for (let position = 0; ;) {
    await onProgress(position);
    const block = await hash.block();
    const at = position;
    const length = await guarded(path, () => readInto(handle, block, at));
    hash.hash(block, length);
    position += length;
    if (length < BLOCK_BYTES) return { digest: await hash.digest(), size: position };
  }
}

/** Writes one block while the next is filled; what is written is hashed. */
class BlockWriter {
  readonly #handle: FileHandle;
  readonly #path: string;
  readonly #hash: BlockDigest;
  /** After so many bytes. */
  readonly #syncs: number;
  #written = 0;
  #synced = 0;
  #writing: Promise<void> = Promise.resolve();
  #syncing: Promise<void> = Promise.resolve();

  constructor(handle: FileHandle, path: string, hash: BlockDigest, syncs: number) {
    this.#syncs = syncs;
    this.#handle = handle;
    this.#path = path;
    this.#hash = hash;
  }

  /** Resolves when the block before it is written. */
  async write(block: Uint8Array<ArrayBuffer>, length: number): Promise<void> {
    await this.#writing;
    this.#writing = this.#write(block, length);
    this.#writing.catch(() => undefined);
  }

  /** @returns the bytes that were written in all. */
  async end(): Promise<number> {
    await this.#writing;
    await this.#syncing;
    return this.#written;
  }

  async #write(block: Uint8Array<ArrayBuffer>, length: number): Promise<void> {
    await guarded(this.#path, () => writeAll(this.#handle, block.subarray(0, length), this.#written));
    this.#written += length;
    this.#hash.hash(block, length);
    if (this.#written - this.#synced < this.#syncs) return;
    this.#synced = this.#written;
    await this.#syncing;
    this.#syncing = guarded(this.#path, () => this.#handle.datasync());
    this.#syncing.catch(() => undefined);
  }
}
