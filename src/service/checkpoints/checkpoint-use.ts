import { LRUCache } from 'lru-cache';
import type { CheckpointRights, Usable } from '../../evaluation-store/checkpoint-rights.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { Checkpoint } from '../../policy-distribution/checkpoint.ts';

export interface CheckpointUseOptions {
  readonly rights: CheckpointRights;
  /** Whether the configuration grants a principal the use of a checkpoint. */
  readonly isGranted: (principal: string, digest: Digest) => boolean;
  /** It is true where access is off: all callers are then one principal, which may use everything that is stored. */
  readonly isEveryones: boolean;
}

/** The kind and the name under which a principal may use a checkpoint. */
export interface UsableAs {
  /** When it is undefined, either kind is accepted. */
  readonly kind: Usable['kind'] | undefined;
  readonly name: string | undefined;
}

/** An entry takes some hundred bytes. */
const MOST_REMEMBERED = 10_000;

/**
 * Decides which checkpoints a principal may use: those that it brought, and those that were granted to it by a principal that brought them, an
 * operator or the configuration. All others do not exist for this principal.
 */
export class CheckpointUse {
  readonly #options: CheckpointUseOptions;
  /** What this process has recorded as brought: such a record is never withdrawn. */
  readonly #stored = new LRUCache<string, true>({ max: MOST_REMEMBERED });

  constructor(options: CheckpointUseOptions) {
    this.#options = options;
  }

  /** Returns undefined when the principal may not use it. */
  async find(principal: string, digest: Digest): Promise<UsableAs | undefined> {
    const { rights, isGranted, isEveryones } = this.#options;
    if (isEveryones) return { kind: undefined, name: undefined };
    const usable = (await rights.findUsable(principal, [digest])).get(digest);
    if (usable && usable.name === undefined && usable.kind === 'file')
      return { ...usable, name: (await rights.findFirstBrought(digest))?.name };
    if (usable || !isGranted(principal, digest)) return usable;
    return { kind: undefined, name: (await rights.findFirstBrought(digest))?.name };
  }

  /** Tells of checkpoints with these digests whether the principal may use them as what they are. */
  async findUsable(principal: string, digests: readonly Digest[]): Promise<(content: Pick<Checkpoint, 'digest' | 'kind'>) => boolean> {
    const { rights, isGranted, isEveryones } = this.#options;
    if (isEveryones) return () => true;
    const usable = await rights.findUsable(principal, digests);
    return ({ digest, kind }) => usable.get(digest)?.kind === kind || isGranted(principal, digest);
  }

  /** Returns the digests that the principal may use as files. */
  async findUsableFiles(principal: string, digests: readonly Digest[]): Promise<ReadonlySet<Digest>> {
    const isUsable = await this.findUsable(principal, digests);
    return new Set(digests.filter((digest) => isUsable({ digest, kind: 'file' })));
  }

  /** Records that the principal brought these. Durable once it resolves. */
  async bring(principal: string, checkpoints: readonly Pick<Checkpoint, 'digest' | 'kind' | 'files'>[]): Promise<void> {
    const brought = checkpoints.map(({ digest, kind, files: [first] }) => {
      const name = kind === 'file' ? first?.path : undefined;
      return { key: JSON.stringify([principal, digest, kind, name]), brought: { principal, digest, kind, name } };
    });
    const fresh = brought.filter(({ key }) => !this.#stored.has(key));
    if (fresh.length === 0) return;
    await this.#options.rights.bring(fresh.map(({ brought: each }) => each));
    for (const { key } of fresh) this.#stored.set(key, true);
  }
}
