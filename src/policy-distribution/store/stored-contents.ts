import { InfrastructureError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { ContentStore } from './content-store.ts';
import type { StoredObject } from '../files/stored-object.ts';
import { toDamage, type PackedFiles } from './packed-files.ts';

/** What the store has of one content: as it is, as a delta, or both. */
export interface StoredContent {
  /** Bytes on the disk, in all forms. */
  readonly bytes: number;
  readonly isPlain: boolean;
  /** The base of its delta. */
  readonly base: Digest | undefined;
}

/** Contents as plain files, whether they are kept so or have to be rebuilt first. */
export class StoredContents {
  readonly #plain: ContentStore;
  readonly #packed: PackedFiles;
  readonly #rebuilding = new Map<Digest, Promise<StoredObject | undefined>>();

  constructor(plain: ContentStore, packed: PackedFiles) {
    this.#plain = plain;
    this.#packed = packed;
  }

  /**
   * Returns undefined when it is not there. A content that is kept as a delta is rebuilt, which takes as long as receiving it again would. The digest
   * is verified while it is written, so only this content can get its name.
   *
   * @throws InfrastructureError `store.damaged`, `store.full`, `store.unusable`
   */
  async find(digest: Digest): Promise<StoredObject | undefined> {
    const plain = await this.#plain.find(digest);
    if (plain) return plain;
    const under = this.#rebuilding.get(digest);
    if (under) return under;
    const rebuilt = this.#rebuild(digest).finally(() => this.#rebuilding.delete(digest));
    this.#rebuilding.set(digest, rebuilt);
    return rebuilt;
  }

  /** Lists everything that is there. */
  async listAll(): Promise<ReadonlyMap<Digest, StoredContent>> {
    const all = new Map<Digest, StoredContent>();
    for (const digest of await this.#plain.listDigests()) {
      const object = await this.#plain.find(digest);
      if (object) all.set(digest, { bytes: object.size, isPlain: true, base: undefined });
    }
    for (const { digest, base, bytes } of await this.#packed.listAll()) {
      const plain = all.get(digest);
      all.set(digest, { bytes: bytes + (plain?.bytes ?? 0), isPlain: plain !== undefined, base });
    }
    return all;
  }

  async #rebuild(digest: Digest): Promise<StoredObject | undefined> {
    const delta = await this.#packed.find(digest);
    if (!delta) return undefined;
    await using file = await this.#packed.read(digest, async (each) => (await this.#plain.find(each))?.hostPath);
    if (!file) return undefined;
    try {
      return await this.#plain.write(file.pieces(), file.bytes.size, async (_readAt, _size, found) => {
        if (found !== digest)
          throw new InfrastructureError('store.damaged', `store: ${delta.path} gives ${found}, or its base is damaged; expected ${digest}`);
      });
    } catch (error) {
      throw toDamage(delta.path, error);
    }
  }
}
