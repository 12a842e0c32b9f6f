import { MusterError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import { digestPieces } from '../files/digested-copy.ts';
import { digestObject, type StoredObject } from '../files/stored-object.ts';
import type { PackedFile } from './packed-files.ts';
import type { RetentionParts } from './store-retention.ts';

/** A file of the store whose content does not match its name. */
export interface Damage {
  readonly path: string;
  /** The digest that it should have, or that of its base. */
  readonly digest: Digest;
  readonly problem: string;
  readonly removed: boolean;
}

export interface VerifiedStore {
  /** Files whose content matches their names. */
  readonly intact: number;
  /** Bytes on the disk of all files that were checked. */
  readonly bytes: number;
  readonly damaged: readonly Damage[];
  /** Checkpoints of which files are missing. A caller that wants one sends it again. */
  readonly incomplete: readonly { readonly digest: Digest; readonly missing: readonly string[] }[];
}

export interface VerificationOptions {
  /** Takes out what is damaged, so that it is brought anew. */
  readonly remove: boolean;
  /** Called with each file that was looked at. */
  readonly onFile?: (path: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Reads all files of a store, one after the other, and compares their content with their names. Changes nothing but what it removes; other Musters
 * may use the store meanwhile.
 */
export class StoreVerification {
  readonly #parts: Pick<RetentionParts, 'plain' | 'packed' | 'records'>;
  readonly #options: VerificationOptions;
  readonly #intact = new Set<Digest>();
  readonly #damaged: Damage[] = [];
  #files = 0;
  #bytes = 0;

  constructor(parts: Pick<RetentionParts, 'plain' | 'packed' | 'records'>, options: VerificationOptions) {
    [this.#parts, this.#options] = [parts, options];
  }

  /** @throws InfrastructureError `store.unusable`; the signal's reason. */
  async run(): Promise<VerifiedStore> {
    const { plain, packed } = this.#parts;
    for (const digest of await plain.listDigests()) await this.#look(digest, await plain.find(digest));
    for (const delta of await packed.listAll()) await this.#lookAtDelta(delta);
    return { intact: this.#files, bytes: this.#bytes, damaged: this.#damaged, incomplete: await this.#listIncomplete() };
  }

  async #look(digest: Digest, object: StoredObject | undefined): Promise<void> {
    if (!object) return;
    const found = await digestObject(object, this.#options.signal);
    const problem = found === digest ? undefined : `it is ${found}`;
    await this.#note({ path: object.hostPath, digest, bytes: object.size }, problem, () => this.#parts.plain.discard(digest));
  }

  /** A delta is as good as its base, which is verified by itself, too. */
  async #lookAtDelta(delta: PackedFile): Promise<void> {
    this.#options.signal.throwIfAborted();
    const problem = await this.#findProblem(delta);
    await this.#note(delta, problem, () => this.#parts.packed.remove(delta, async () => false));
  }

  async #findProblem({ digest }: PackedFile): Promise<string | undefined> {
    const { plain, packed } = this.#parts;
    try {
      const findPlainPath = async (each: Digest): Promise<string | undefined> =>
        each === digest ? undefined : (await plain.find(each))?.hostPath;
      await using file = await packed.read(digest, findPlainPath);
      if (!file) return 'its base is not there';
      const found = (await digestPieces(file.pieces(), file.bytes.size)).digest;
      return found === digest ? undefined : `it gives ${found}`;
    } catch (error) {
      if (error instanceof MusterError && error.code !== 'store.damaged') throw error;
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #note(
    { path, digest, bytes }: { readonly path: string; readonly digest: Digest; readonly bytes: number },
    problem: string | undefined,
    remove: () => Promise<void>,
  ): Promise<void> {
    this.#bytes += bytes;
    this.#options.onFile?.(path);
    if (problem === undefined) {
      this.#files += 1;
      this.#intact.add(digest);
      return;
    }
    if (this.#options.remove) await remove();
    this.#damaged.push({ path, digest, problem, removed: this.#options.remove });
  }

  async #listIncomplete(): Promise<VerifiedStore['incomplete']> {
    const incomplete: { digest: Digest; missing: readonly string[] }[] = [];
    for (const digest of await this.#parts.records.listDigests()) {
      const record = await this.#parts.records.read(digest);
      const missing = record?.files.filter((file) => !this.#intact.has(file.digest)).map(({ path }) => path) ?? ['its record'];
      if (missing.length > 0) incomplete.push({ digest, missing });
    }
    return incomplete;
  }
}
