import { RetainedPairs } from '../resampling/retained-pairs.ts';
import { Moments } from '../intervals/moments.ts';
import { SerialDependence } from '../folding/serial-dependence.ts';
import type { Score } from '../stopping/stopping-rule.ts';

/** Normal quantiles for a two-sided 5 % and a power of 80 %: 1.96 + 0.84. */
const DETECTABLE = 2.8;

/** The figures of pairs of episodes, one of the baseline and one of a candidate, in units of the return. Constant state except for stored values. */
export class PairedSample {
  readonly baseline = new Moments();
  readonly candidate = new Moments();
  /** Candidate minus baseline. */
  readonly differences = new Moments();
  readonly dependence = new SerialDependence();
  readonly kept = new RetainedPairs();
  #unresolved = 0;
  #discordant = 0;

  /** A pair is unresolved when either of its scores is. All figures but the counts are over the resolved pairs. */
  add(task: number, baseline: Score, candidate: Score): void {
    if (baseline.low !== baseline.high || candidate.low !== candidate.high) {
      this.#unresolved += 1;
      return;
    }
    this.baseline.add(baseline.low);
    this.candidate.add(candidate.low);
    this.differences.add(candidate.low - baseline.low);
    this.dependence.add(task, candidate.low - baseline.low);
    this.kept.add(task, baseline.low, candidate.low);
    if (candidate.low !== baseline.low) this.#discordant += 1;
  }

  get pairs(): number {
    return this.resolved + this.#unresolved;
  }

  get resolved(): number {
    return this.differences.count;
  }

  get unresolved(): number {
    return this.#unresolved;
  }

  /** Resolved pairs whose returns differ. */
  get discordant(): number {
    return this.#discordant;
  }

  /** 2.80·s_D/√n, the mean difference that is found with a power of 80 % at this n fixed in advance; undefined when there is no spread. */
  get smallestEffect(): number | undefined {
    const { standardError } = this.differences;
    return standardError === undefined || standardError === 0 ? undefined : DETECTABLE * standardError;
  }
}
