import { chmod, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { InfrastructureError } from '../../kernel/errors.ts';
import { isDigest, type Digest } from '../../kernel/ids.ts';
import { getDigestHex } from '../checkpoint.ts';
import { encodeDelta, type DeltaSide } from '../delta/delta-encoder.ts';
import { MalformedDelta } from '../delta/delta-format.ts';
import { DeltaFile, readIndex } from './delta-reader.ts';
import { BLOCK_BYTES, type Stretches } from '../delta/delta-block.ts';
import { FileStretches } from '../files/file-stretches.ts';
import type { IncomingNames } from '../files/incoming-names.ts';
import { readFacts, translateErrors, syncDirectory, writeAll } from '../files/store-files.ts';
import { WithdrawnFiles } from '../files/withdrawn-files.ts';

/** A file that is stored as a delta. */
export interface PackedFile {
  readonly digest: Digest;
  readonly base: Digest;
  /** Bytes of the delta. */
  readonly bytes: number;
  readonly path: string;
}

/** A delta has to be smaller than this share of the file, since rebuilding the file takes longer than reading it. */
const WORTH_PACKING = 0.75;

/** Files stored as deltas: `packed/<hex>.<hex of the base>`. As in `objects/`, a file with its final name is complete and never changes. */
export class PackedFiles {
  readonly #directory: string;
  readonly #incoming: string;
  readonly #names: IncomingNames;
  readonly #withdrawn: WithdrawnFiles;

  private constructor(directory: string, names: IncomingNames, withdrawn: WithdrawnFiles) {
    this.#withdrawn = withdrawn;
    this.#directory = join(directory, 'packed');
    this.#incoming = join(directory, 'incoming');
    this.#names = names;
  }

  /** @throws InfrastructureError `store.unusable` */
  static async open(directory: string, names: IncomingNames): Promise<PackedFiles> {
    const withdrawn = await WithdrawnFiles.open(join(directory, 'packed'), join(directory, 'withdrawn/packed'), names);
    const files = new PackedFiles(directory, names, withdrawn);
    for (const path of [files.#directory, files.#incoming]) await translateErrors(path, () => mkdir(path, { recursive: true }));
    return files;
  }

  async listAll(): Promise<readonly PackedFile[]> {
    const names = await translateErrors(this.#directory, () => readdir(this.#directory));
    const files = names.map(async (name) => {
      const path = join(this.#directory, name);
      const facts = await translateErrors(path, () => readFacts(path));
      const [digest = '', base = ''] = name.split('.').map((hex) => `sha256:${hex}`);
      return facts && isDigest(digest) && isDigest(base) ? [{ digest, base, bytes: facts.size, path }] : [];
    });
    return (await Promise.all(files)).flat();
  }

  /** Puts back what ended processes were removing. @throws InfrastructureError `store.unusable` */
  async putBackAbandoned(): Promise<void> {
    await this.#withdrawn.putBackAbandoned();
  }

  async find(digest: Digest): Promise<PackedFile | undefined> {
    return (await this.listAll()).find((file) => file.digest === digest);
  }

  /** @returns false when its delta would not be smaller, and then nothing is stored. @throws InfrastructureError `store.full`, `store.unusable` */
  async pack(file: DeltaSide, base: DeltaSide, signal: AbortSignal): Promise<boolean> {
    const incoming = join(this.#incoming, this.#names.next());
    try {
      await using handle = await translateErrors(incoming, () => open(incoming, 'wx', 0o600));
      const write = (bytes: Uint8Array): Promise<void> => translateErrors(incoming, () => writeAll(handle, bytes));
      if (!(await encodeDelta(file, base, { maxBytes: WORTH_PACKING * file.bytes.size, write, signal }))) return false;
      await translateErrors(incoming, async () => {
        await chmod(incoming, 0o444);
        await handle.sync();
        await rename(incoming, join(this.#directory, `${getDigestHex(file.digest)}.${getDigestHex(base.digest)}`));
        await syncDirectory(this.#directory);
      });
      return true;
    } finally {
      await rm(incoming, { force: true });
    }
  }

  /** @param isWanted called once the object is out of reach; if true, it is put back. */
  async remove({ path }: PackedFile, isWanted: () => Promise<boolean>): Promise<void> {
    await translateErrors(path, async () => {
      const removed = await this.#withdrawn.withdraw(basename(path));
      if (removed) await ((await isWanted()) ? removed.putBack() : removed.remove());
    });
  }

  /**
   * Opens a file as if it were stored whole. It is read through as many deltas as necessary.
   *
   * @param plainPath of a file that is stored whole, undefined when it is not. @returns undefined when a delta or base that it needs is missing.
   * @throws InfrastructureError `store.damaged`, `store.unusable`
   */
  async read(digest: Digest, plainPath: (digest: Digest) => Promise<string | undefined>): Promise<ReadFile | undefined> {
    await using opened = new AsyncDisposableStack();
    const deltas: FileStretches[] = [];
    const all = new Map((await this.listAll()).map((file) => [file.digest, file]));
    const seen = new Set<Digest>();
    for (let wanted = digest; ;) {
      const plain = await plainPath(wanted);
      const path = plain ?? all.get(wanted)?.path;
      // A circle is none that Muster makes.
      if (path === undefined || seen.has(wanted)) return undefined;
      seen.add(wanted);
      const file = await FileStretches.open(path);
      if (!file) return undefined;
      opened.use(file);
      if (plain !== undefined) {
        const bytes = await applyDeltas(file, deltas.toReversed());
        const held = opened.move();
        const pieces = (): AsyncIterable<Uint8Array> => (bytes instanceof DeltaFile ? bytes.readPieces() : cutBlocks(bytes));
        return { bytes, pieces, [Symbol.asyncDispose]: () => held.disposeAsync() };
      }
      deltas.push(file);
      wanted = all.get(wanted)?.base ?? wanted;
    }
  }
}

export interface ReadFile extends AsyncDisposable {
  readonly bytes: Stretches;
  /** Yields pieces from the first byte to the last. Each is valid until the next one is requested. @throws MalformedDelta */
  pieces(): AsyncIterable<Uint8Array>;
}

async function* cutBlocks(bytes: Stretches): AsyncGenerator<Uint8Array> {
  const block = new Uint8Array(BLOCK_BYTES);
  for (let at = 0; at < bytes.size; at += BLOCK_BYTES) {
    const piece = block.subarray(0, bytes.size - at);
    await bytes.readInto(piece, at);
    yield piece;
  }
}

/** @param deltas the first on `base`, each further one on the previous one. */
async function applyDeltas(base: FileStretches, deltas: readonly FileStretches[]): Promise<Stretches> {
  let bytes: Stretches = base;
  for (const delta of deltas) {
    try {
      bytes = new DeltaFile(delta, await readIndex(delta, delta.path), bytes);
    } catch (error) {
      throw toDamage(delta.path, error);
    }
  }
  return bytes;
}

/** @returns an InfrastructureError `store.damaged` for what is no delta any more, anything else as it is. */
export function toDamage(path: string, error: unknown): unknown {
  if (!(error instanceof MalformedDelta)) return error;
  const remedy = '"muster checkpoints verify --remove" removes the damaged files; then send the checkpoint again';
  return new InfrastructureError('store.damaged', `store: ${path} is damaged: ${error.message}; ${remedy}`, { cause: error });
}

/** Whether the error says that something in the store has changed. */
export function isDamage(error: unknown): boolean {
  return error instanceof MalformedDelta || (error instanceof InfrastructureError && error.code === 'store.damaged');
}

/** Ignores damage: a caller that has the file sends it again. */
export function ignoreDamage(error: unknown): undefined {
  if (isDamage(error)) return undefined;
  throw error;
}
