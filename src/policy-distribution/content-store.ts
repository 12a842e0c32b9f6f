import { createHash } from 'node:crypto';
import { chmod, mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { InfrastructureError, messageOf, MusterError } from '../kernel/errors.ts';
import { parseDigest, type Digest } from '../kernel/ids.ts';
import { IncomingNames } from './incoming-names.ts';
import type { ReadAt } from './safetensors.ts';

/**
 * Files kept under the sha256 of their content, each once: `objects/<hex>`, read-only. A file grows under a name of its own in
 * `incoming/`, is synced to disk, and only then takes its final name in one step: whatever stands under `objects/` is whole,
 * also after a crash, and any number of processes may share the directory without locks.
 */
export class ContentStore {
  readonly #objects: string;
  readonly #incoming: string;
  readonly #names: IncomingNames;

  private constructor(directory: string, names: IncomingNames) {
    this.#objects = join(directory, 'objects');
    this.#incoming = join(directory, 'incoming');
    this.#names = names;
  }

  /**
   * Makes the directory where there is none, and removes what dead processes left unfinished in it.
   *
   * @throws InfrastructureError `store.unusable`
   */
  static async open(directory: string, clock: Clock): Promise<ContentStore> {
    const store = new ContentStore(directory, await IncomingNames.forThisProcess(clock));
    await guarded(directory, async () => {
      await mkdir(store.#objects, { recursive: true });
      await mkdir(store.#incoming, { recursive: true });
      await store.#sweep();
    });
    return store;
  }

  /**
   * Keeps the bytes and says their name. Errors of `bytes` and of `inspect` pass through as they are, and nothing is kept.
   *
   * @param inspect sees the whole file before it gets its final name, and may refuse it.
   * @throws InfrastructureError `store.full`, `store.unusable`
   */
  async write(bytes: AsyncIterable<Uint8Array>, inspect: (readAt: ReadAt) => Promise<void>): Promise<StoredObject> {
    const incoming = join(this.#incoming, this.#names.next());
    try {
      await using handle = await guarded(incoming, () => open(incoming, 'wx+', 0o600));
      const { digest, size } = await copyInto(handle, incoming, bytes);
      await inspect((position, length) => guarded(incoming, () => readAt(handle, position, length)));
      return await guarded(incoming, () => this.#keep(handle, incoming, digest, size));
    } finally {
      await rm(incoming, { force: true });
    }
  }

  /** What is kept under a name; undefined when it is not, or not whole. */
  async find(digest: Digest, size: number): Promise<StoredObject | undefined> {
    const hostPath = this.#pathOf(digest);
    return guarded(hostPath, async () => ((await sizeOf(hostPath)) === size ? { digest, size, hostPath } : undefined));
  }

  #pathOf(digest: Digest): string {
    return join(this.#objects, digest.slice('sha256:'.length));
  }

  /** A file of another size under the final name is damaged: the verified one takes its place. */
  async #keep(handle: FileHandle, incoming: string, digest: Digest, size: number): Promise<StoredObject> {
    const hostPath = this.#pathOf(digest);
    if ((await sizeOf(hostPath)) !== size) {
      await chmod(incoming, 0o444);
      await handle.sync();
      await rename(incoming, hostPath);
      await syncDirectory(this.#objects);
    }
    return { digest, size, hostPath };
  }

  async #sweep(): Promise<void> {
    for (const name of await readdir(this.#incoming)) {
      const path = join(this.#incoming, name);
      const stats = await stat(path).catch(undefinedWhenMissing);
      if (stats !== undefined && (await this.#names.isAbandoned(name, stats.mtimeMs))) await rm(path, { force: true });
    }
  }
}

export interface StoredObject {
  readonly digest: Digest;
  /** Bytes. */
  readonly size: number;
  /** Absolute; read-only, never changed and never removed while Muster runs, so it may be linked or mounted anywhere. */
  readonly hostPath: string;
}

async function copyInto(handle: FileHandle, path: string, bytes: AsyncIterable<Uint8Array>): Promise<{ digest: Digest; size: number }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    await guarded(path, () => writeAll(handle, chunk));
    size += chunk.length;
  }
  return { digest: parseDigest(`sha256:${hash.digest('hex')}`), size };
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length;) written += (await handle.write(chunk, written)).bytesWritten;
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(undefinedWhenMissing))?.size;
}

/** Without it, a power cut could take back the new name although the file itself is on disk. */
async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, 'r');
  await directory.sync();
}

function undefinedWhenMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}

const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

async function guarded<Value>(path: string, operation: () => Promise<Value>): Promise<Value> {
  try {
    return await operation();
  } catch (error) {
    if (error instanceof MusterError) throw error;
    if (error instanceof Error && 'code' in error && FULL.has(error.code)) {
      throw new InfrastructureError('store.full', `store: no space left for ${path}; free some, or set stateDir to a larger disk`, {
        cause: error,
      });
    }
    const remedy = 'set stateDir to a directory that this user may write';
    throw new InfrastructureError('store.unusable', `store: ${path}: ${messageOf(error)}; ${remedy}`, { cause: error });
  }
}
