import { countAllowedEpisodes, type Quota } from '../access/quota.ts';

/** The largest number of episodes of a principal at the same time. */
export type EpisodeQuota = (principal: string) => Pick<Quota, 'concurrentEpisodes'>;

/**
 * The concurrent episodes of each principal over all pools of this process: each slot in a pool plays one at a time. Pools query how many they may
 * play, and are notified when a principal that is at its limit returns a slot.
 */
export class EpisodeBounds {
  readonly #quotaOf: EpisodeQuota;
  readonly #played = new Map<string, number>();
  readonly #pools = new Set<() => void>();

  constructor(quotaOf: EpisodeQuota) {
    this.#quotaOf = quotaOf;
  }

  /** @param onRoom is called when there may be room again. */
  join(onRoom: () => void): Disposable {
    this.#pools.add(onRoom);
    return { [Symbol.dispose]: () => void this.#pools.delete(onRoom) };
  }

  /** @param here the principal's slots in the pool that asks. @param wanted the slots that it could use there, these included. */
  computeMost(principal: string, here: number, wanted: number): number {
    const elsewhere = (this.#played.get(principal) ?? 0) - here;
    return countAllowedEpisodes(this.#quotaOf(principal), elsewhere, wanted);
  }

  /** Counts the episodes of a principal that are played now. */
  countPlayed(principal: string): number {
    return this.#played.get(principal) ?? 0;
  }

  /** Called when quotas have changed. */
  onChanged(): void {
    for (const onRoom of this.#pools) onRoom();
  }

  take(principal: string): void {
    this.#played.set(principal, (this.#played.get(principal) ?? 0) + 1);
  }

  /** @param by the pool, which shares its own slots out itself. */
  giveBack(principal: string, by: () => void): void {
    const left = (this.#played.get(principal) ?? 0) - 1;
    if (left > 0) this.#played.set(principal, left);
    else this.#played.delete(principal);
    if (this.#quotaOf(principal).concurrentEpisodes === undefined) return;
    for (const onRoom of this.#pools) if (onRoom !== by) onRoom();
  }
}

/** Creates bounds that limit no principal. */
export function createUnbounded(): EpisodeBounds {
  return new EpisodeBounds(() => ({ concurrentEpisodes: undefined }));
}
