import type { Bounds } from '../intervals/bounds.ts';
import { Moments } from '../intervals/moments.ts';
import type { WorstCase } from './statistics.ts';
import type { Score } from '../stopping/stopping-rule.ts';

/** Episodes that were lost for good, and the uncertainty of the mean that they cause. */
export class UnresolvedEpisodes {
  readonly #lowest = new Moments();
  readonly #highest = new Moments();

  /** @param score the episode's lowest and highest possible score. */
  add({ low, high }: Score): void {
    this.#lowest.add(low);
    this.#highest.add(high);
  }

  get count(): number {
    return this.#lowest.count;
  }

  /**
   * Computes the mean over all episodes if every unresolved one had the lowest return, and if it had the highest; kept within the bounds. Returns
   * undefined without episodes, and where no bounds limit the unresolved ones.
   *
   * @param resolved scores of the resolved episodes.
   */
  computeWorstCase(resolved: Pick<Moments, 'count' | 'mean'>, bounds: Bounds | undefined): WorstCase | undefined {
    const { count, mean } = resolved;
    if (this.count === 0 && mean === undefined) return undefined;
    if (this.count > 0 && bounds === undefined) return undefined;
    const share = this.count / (count + this.count);
    const { low = -Infinity, high = Infinity } = bounds ?? {};
    const withAll = (extreme = Number.NaN): number => {
      if (this.count === 0) return mean ?? extreme;
      return Math.min(Math.max(mean === undefined ? extreme : mean + share * (extreme - mean), low), high);
    };
    return { low: withAll(this.#lowest.mean), high: withAll(this.#highest.mean) };
  }
}
