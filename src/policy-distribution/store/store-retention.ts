import type { Clock } from '../../kernel/clock.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { CheckpointRecords, RecordedCheckpoint } from './checkpoint-records.ts';
import type { ContentStore } from './content-store.ts';
import type { DeltaSide } from '../delta/delta-encoder.ts';
import { untrustedFiles } from '../inspection/untrusted-files.ts';
import { mayBePacked, isDeltaEncoded, findPackable, type Packable } from './packing.ts';
import { isDamage, ignoreDamage, type PackedFile, type PackedFiles, type ReadFile } from './packed-files.ts';
import { listContents, chooseCheckpointsToRemove, type RetainedCheckpoint } from './retention.ts';
import { digestPieces } from '../files/digested-copy.ts';
import type { StoredContent, StoredContents } from './stored-contents.ts';

export interface Retention {
  /** The limit for the files of all checkpoints together. It is undefined when there is none. */
  readonly maxBytes: number | undefined;
  /** Whether a checkpoint will be needed although no process holds it: those of waiting evaluations, for example. */
  readonly isNeeded: (digest: Digest) => boolean;
}

export interface Retained {
  readonly forgotten: readonly Digest[];
  /** The only file of a checkpoint has the checkpoint's digest. */
  readonly removed: readonly Digest[];
  /** Files that are stored as deltas from now on. */
  readonly packed: readonly Digest[];
  /** Bytes that are free now. */
  readonly bytes: number;
}

export interface RetentionParts {
  readonly plain: ContentStore;
  readonly packed: PackedFiles;
  readonly contents: StoredContents;
  readonly records: CheckpointRecords;
  readonly clock: Clock;
}

/** Time that a caller has to hold a checkpoint after bringing it or looking it up, before it may be removed. */
const RECENT_MS = 60 * 60 * 1000;

/** Makes room in the store: stores unused files as deltas where that is smaller, and removes what still does not fit. */
export class StoreRetention {
  readonly #parts: RetentionParts;
  /** Pairs whose delta is not smaller, as `<file> <base>`. */
  readonly #unlike = new Set<string>();

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** @throws InfrastructureError `store.full`, `store.unusable` */
  async retain({ maxBytes = Infinity, isNeeded }: Retention, signal: AbortSignal): Promise<Retained> {
    const unusedSinceMs = this.#parts.clock.date().getTime() - RECENT_MS;
    const { plain, packed: deltas, records } = this.#parts;
    for (const files of [plain, deltas, records]) await files.putBackAbandoned();
    const kept = await this.#listKept(unusedSinceMs, isNeeded);
    const { packed, bytes: freed } = await this.#pack(kept, unusedSinceMs, signal);
    const forgotten: Digest[] = [];
    for (const digest of chooseCheckpointsToRemove(kept, await this.#parts.contents.listAll(), maxBytes))
      if (await this.#parts.records.forget(digest, unusedSinceMs)) forgotten.push(digest);
    const { removed, bytes } = await this.#sweep(unusedSinceMs);
    return { forgotten, removed, packed, bytes: bytes + freed };
  }

  async #listKept(unusedSinceMs: number, isNeeded: (digest: Digest) => boolean): Promise<readonly RetainedCheckpoint[]> {
    const held = await this.#parts.records.listHeld();
    return (await this.#listAll()).map(({ record: { digest, files }, usedMs }) => ({
      digest,
      files,
      usedMs,
      isNeeded: held.has(digest) || usedMs >= unusedSinceMs || isNeeded(digest),
    }));
  }

  async #pack(
    kept: readonly RetainedCheckpoint[],
    unusedSinceMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly packed: readonly Digest[]; readonly bytes: number }> {
    const contents = new Map(await this.#parts.contents.listAll());
    const packed: Digest[] = [];
    let bytes = 0;
    for (const file of findPackable(kept, contents)) {
      const delta = await this.#encode(file, contents, signal);
      if (!delta) continue;
      const isNew = contents.get(file.digest)?.base === undefined;
      contents.set(file.digest, { bytes: delta.bytes, isPlain: true, base: delta.base });
      const freed = await this.#parts.plain.remove(file.digest, unusedSinceMs, () => this.#isWanted(file, unusedSinceMs));
      if (freed !== undefined) packed.push(file.digest);
      bytes += (freed ?? 0) - (isNew ? delta.bytes : 0);
    }
    return { packed, bytes };
  }

  /** Called when the file is out of reach: whether a caller has requested it since, or another process has made its delta useless. */
  async #isWanted({ digest, checkpoint }: Packable, unusedSinceMs: number): Promise<boolean> {
    const { records, contents } = this.#parts;
    if ((await this.#readLastUse(checkpoint)) >= unusedSinceMs || (await records.listHeld()).has(checkpoint)) return true;
    return !isDeltaEncoded(digest, await contents.listAll());
  }

  /** Returns a delta of the file from which it has been rebuilt, to the byte; undefined when there is none. */
  async #encode(file: Packable, contents: ReadonlyMap<Digest, StoredContent>, signal: AbortSignal): Promise<PackedFile | undefined> {
    const { packed } = this.#parts;
    if (file.bases.length === 0) return (await this.#isRebuilt(file.digest)) ? packed.find(file.digest) : undefined;
    for (const base of file.bases) {
      const pair = `${file.digest} ${base.digest}`;
      if (this.#unlike.has(pair) || !mayBePacked(file.digest, base.digest, contents)) continue;
      if ((await this.#packBy(file, base, signal)) && (await this.#isRebuilt(file.digest))) return packed.find(file.digest);
      this.#unlike.add(pair);
    }
    return undefined;
  }

  async #packBy({ digest, path }: Packable, base: Packable['bases'][number], signal: AbortSignal): Promise<boolean> {
    try {
      await using file = await this.#read(digest);
      await using stored = await this.#read(base.digest);
      if (!file || !stored) return false;
      return await this.#parts.packed.pack(await createSide(digest, path, file), await createSide(base.digest, base.path, stored), signal);
    } catch (error) {
      // The base is damaged, so another one may do. "muster checkpoints verify" reports it.
      if (isDamage(error)) return false;
      throw error;
    }
  }

  /** Whether the file can be rebuilt. If not, its delta is removed: it is damaged, or another process has removed its base meanwhile. */
  async #isRebuilt(digest: Digest): Promise<boolean> {
    const { packed, plain } = this.#parts;
    const findPlainPath = async (each: Digest): Promise<string | undefined> =>
      each === digest ? undefined : (await plain.find(each))?.hostPath;
    if (await isIntact(await packed.read(digest, findPlainPath).catch(ignoreDamage), digest)) return true;
    const delta = await packed.find(digest);
    // Another process may rely on it by now.
    if (delta) await packed.remove(delta, async () => (await plain.find(digest)) === undefined);
    return false;
  }

  async #sweep(unusedSinceMs: number): Promise<{ readonly removed: readonly Digest[]; readonly bytes: number }> {
    const { contents, plain, packed } = this.#parts;
    const all = await contents.listAll();
    const used = listContents(
      (await this.#listAll()).flatMap(({ record: { files } }) => files),
      all,
    );
    const removed: Digest[] = [];
    let bytes = 0;
    for (const delta of await packed.listAll()) {
      if (used.has(delta.digest) || (await this.#readLastUse(delta.digest)) >= unusedSinceMs) continue;
      await packed.remove(delta, async () => false);
      bytes += delta.bytes;
      if (all.get(delta.digest)?.isPlain !== true) removed.push(delta.digest);
    }
    for (const [digest, { isPlain }] of all) {
      if (used.has(digest) || !isPlain) continue;
      const isBase = async (): Promise<boolean> => (await packed.listAll()).some(({ base }) => base === digest);
      const size = await plain.remove(digest, unusedSinceMs, isBase);
      if (size === undefined) continue;
      removed.push(digest);
      bytes += size;
    }
    return { removed, bytes };
  }

  #read(digest: Digest): Promise<ReadFile | undefined> {
    return this.#parts.packed.read(digest, async (each) => (await this.#parts.plain.find(each))?.hostPath);
  }

  async #readLastUse(digest: Digest): Promise<number> {
    return (await this.#parts.records.readLastUse(digest)) ?? 0;
  }

  async #listAll(): Promise<readonly { readonly record: RecordedCheckpoint; readonly usedMs: number }[]> {
    const { records } = this.#parts;
    const all: { record: RecordedCheckpoint; usedMs: number }[] = [];
    for (const digest of await records.listDigests()) {
      const [record, usedMs] = [await records.read(digest), await records.readLastUse(digest)];
      if (record && usedMs !== undefined) all.push({ record, usedMs });
    }
    return all;
  }
}

async function createSide(digest: Digest, path: string, { bytes }: ReadFile): Promise<DeltaSide> {
  const layout = await untrustedFiles.read('layout', { path, address: path, size: bytes.size }, async (position, length) => {
    const read = new Uint8Array(Math.max(0, Math.min(length, bytes.size - position)));
    await bytes.readInto(read, position);
    return read;
  });
  return { digest, layout, bytes };
}

async function isIntact(opened: ReadFile | undefined, digest: Digest): Promise<boolean> {
  await using file = opened;
  if (!file) return false;
  try {
    return (await digestPieces(file.pieces(), file.bytes.size)).digest === digest;
  } catch (error) {
    return ignoreDamage(error) ?? false;
  }
}
