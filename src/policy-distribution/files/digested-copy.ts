import type { FileHandle } from 'node:fs/promises';
import type { Clock } from '../../kernel/clock.ts';
import type { Digest } from '../../kernel/ids.ts';
import { BLOCK_BYTES, WORTH_A_THREAD_BYTES, createBlockDigest, type BlockDigest } from './block-digest.ts';
import { DirectWriter } from './direct-writer.ts';
import { translateErrors, readInto, writeAll } from './store-files.ts';

export interface Digested {
  readonly digest: Digest;
  /** Bytes. */
  readonly size: number;
}

/** Written bytes after which data is flushed to the disk, so that the final sync is short. */
const SYNCED_BYTES = 64 * 2 ** 20;

export interface CopyOptions {
  readonly clock: Clock;
  /** Whether the file is synced right afterwards. */
  readonly isSynced: boolean;
}

/**
 * Writes bytes into an empty file and hashes them in the same pass: hash and file get the same memory, and nothing is
 * read again. Reading, writing and hashing run in parallel.
 *
 * @param size expected bytes. @throws InfrastructureError `store.full`, `store.unusable`; and the errors of `bytes`.
 */
export async function copyInto(
  handle: FileHandle,
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  size: number,
  { clock, isSynced }: CopyOptions,
): Promise<Digested> {
  await using hash = createBlockDigest(size);
  await using direct = size < WORTH_A_THREAD_BYTES ? undefined : await DirectWriter.open(handle, clock);
  const writer = new BlockWriter(handle, path, hash, isSynced ? SYNCED_BYTES : Infinity, direct);
  let block = await hash.nextBlock();
  let filled = 0;
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length;) {
      const part = chunk.subarray(at, at + BLOCK_BYTES - filled);
      block.set(part, filled);
      [at, filled] = [at + part.length, filled + part.length];
      if (filled < BLOCK_BYTES) continue;
      await writer.write(block, filled);
      [block, filled] = [await hash.nextBlock(), 0];
    }
  }
  await writer.write(block, filled);
  const written = await writer.end();
  return { digest: await hash.digest(), size: written };
}

/** Hashes bytes without storing them. @param size expected bytes. */
export async function digestPieces(bytes: AsyncIterable<Uint8Array>, size: number): Promise<Digested> {
  await using hash = createBlockDigest(size);
  let hashed = 0;
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; at += BLOCK_BYTES) {
      const part = chunk.subarray(at, at + BLOCK_BYTES);
      const block = await hash.nextBlock();
      block.set(part);
      hash.hash(block, part.length);
    }
    hashed += chunk.length;
  }
  return { digest: await hash.digest(), size: hashed };
}

/** Hashes a file in place. */
export async function digestFile(
  handle: FileHandle,
  path: string,
  size: number,
  onProgress: (bytes: number) => Promise<void>,
): Promise<Digested> {
  await using hash = createBlockDigest(size);
  for (let position = 0; ;) {
    await onProgress(position);
    const block = await hash.nextBlock();
    const at = position;
    const length = await translateErrors(path, () => readInto(handle, block, at));
    hash.hash(block, length);
    position += length;
    if (length < BLOCK_BYTES) return { digest: await hash.digest(), size: position };
  }
}

/** Writes one block while the next is filled, and hashes what is written. */
class BlockWriter {
  readonly #handle: FileHandle;
  readonly #path: string;
  readonly #hash: BlockDigest;
  /** Bytes between two flushes to the disk. */
  readonly #syncs: number;
  readonly #direct: DirectWriter | undefined;
  #written = 0;
  #synced = 0;
  #writing: Promise<void> = Promise.resolve();
  #syncing: Promise<void> = Promise.resolve();

  constructor(handle: FileHandle, path: string, hash: BlockDigest, syncs: number, direct: DirectWriter | undefined) {
    this.#direct = direct;
    this.#syncs = syncs;
    this.#handle = handle;
    this.#path = path;
    this.#hash = hash;
  }

  /** Resolves when the previous block is written. */
  async write(block: Uint8Array<ArrayBuffer>, length: number): Promise<void> {
    await this.#writing;
    this.#writing = this.#write(block, length);
    this.#writing.catch(() => undefined);
  }

  /** @returns the total of written bytes. */
  async end(): Promise<number> {
    await this.#writing;
    await this.#syncing;
    return this.#written;
  }

  async #write(block: Uint8Array<ArrayBuffer>, length: number): Promise<void> {
    const past =
      length < BLOCK_BYTES ? 0 : await translateErrors(this.#path, async () => (await this.#direct?.write(block, this.#written)) ?? 0);
    await translateErrors(this.#path, () => writeAll(this.#handle, block.subarray(past, length), this.#written + past));
    this.#written += length;
    this.#hash.hash(block, length);
    if (this.#written - this.#synced < this.#syncs) return;
    this.#synced = this.#written;
    await this.#syncing;
    this.#syncing = translateErrors(this.#path, () => this.#handle.datasync());
    this.#syncing.catch(() => undefined);
  }
}
