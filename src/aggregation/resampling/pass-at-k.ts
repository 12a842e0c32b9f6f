import { createSeededRandom } from '../../kernel/seeded-random.ts';
import { computePercentileEnds, countReplicates, resampleMeans } from './bootstrap.ts';

/** Each k needs two intervals, so each interval gets only a share of the resamples of one bootstrap. */
const MOST_DRAWS = 4_000_000;

export interface Attempts {
  readonly count: number;
  readonly successes: number;
}

export interface TaskMean {
  readonly value: number;
  /** The percentile interval of a bootstrap that resamples tasks; null for one task and for two, whose values may be close by chance. */
  readonly low: number | null;
  readonly high: number | null;
}

/**
 * Estimates pass@k, the probability that at least one of k attempts succeeds: 1 − C(n−c, k)/C(n, k) for c successes in n attempts, which is unbiased
 * (Chen et al. 2021, "Evaluating large language models trained on code"). Uses a product, since the binomials themselves overflow. Returns undefined
 * when n < k.
 */
export function estimatePassAtK({ count, successes }: Attempts, k: number): number | undefined {
  const noneOf = estimatePassPowerK({ count, successes: count - successes }, k);
  return noneOf === undefined ? undefined : 1 - noneOf;
}

/** Estimates pass^k, the probability that all of k attempts succeed: C(c, k)/C(n, k) (Yao et al. 2024, "τ-bench"). Returns undefined when n < k. */
export function estimatePassPowerK({ count, successes }: Attempts, k: number): number | undefined {
  if (count < k) return undefined;
  let product = 1;
  for (let drawn = 0; drawn < k; drawn += 1) product *= Math.max(0, successes - drawn) / (count - drawn);
  return product;
}

/** Resamples of fewer tasks say nothing about further tasks. */
const FEWEST_TASKS = 3;

/** Computes the mean over tasks, with equal weights. Returns undefined without tasks. */
export function averageOverTasks(values: readonly number[], confidence: number): TaskMean | undefined {
  if (values.length === 0) return undefined;
  const value = values.reduce((sum, of) => sum + of, 0) / values.length;
  if (values.length < FEWEST_TASKS) return { value, low: null, high: null };
  const random = createSeededRandom('mean over tasks', 0);
  const resampled = resampleMeans(random, Float64Array.from(values), countReplicates(values.length, MOST_DRAWS));
  return { value, ...(computePercentileEnds(resampled, confidence) ?? { low: null, high: null }) };
}
