import { createSeededRandom, type Random } from '../../kernel/seeded-random.ts';
import { computeClopperPearsonInterval } from '../intervals/intervals.ts';
import type { PairedReturns } from './retained-pairs.ts';
import { planResampling, computeShrunkenEnds } from './bootstrap.ts';
import { findCells, countDraws, findDistinctValues } from './counted-resample.ts';

/** Returns of two checkpoints on one task, in any order; there may be more of one than of the other. */
export interface TaskReturns {
  readonly candidate: ArrayLike<number>;
  readonly baseline: ArrayLike<number>;
}

/** Returns, and the question about them. Plain data, so that it can be sent to another thread. */
export interface ImprovementQuestion {
  readonly tasks: readonly PairedReturns[];
  readonly confidence: number;
  readonly seed: number;
}

/** Computes the answer, here or elsewhere: equal questions have equal answers. */
export type WorkOutImprovement = (question: ImprovementQuestion) => Promise<ProbabilityOfImprovement | undefined>;

export interface ProbabilityOfImprovement {
  readonly value: number;
  /**
   * Ends of the percentile interval of a bootstrap that resamples the returns of each checkpoint within each task; wider where all resamples give the
   * same.
   */
  readonly low: number;
  readonly high: number;
}

/**
 * Computes the probability that a return of the candidate is higher than one of the baseline, on a random task: the mean over tasks of the
 * Mann–Whitney statistic U/(n·m), in which a tie counts ½ (Agarwal et al. 2021, "Deep reinforcement learning at the edge of the statistical
 * precipice"). Tasks without returns of one of them are left out. Equal returns of each task in any order give the same result.
 *
 * Undefined where nothing can be resampled: where no task has returns of both, two of one of them.
 */
export function computeProbabilityOfImprovement(
  tasks: readonly TaskReturns[],
  confidence: number,
  seed: number,
): ProbabilityOfImprovement | undefined {
  const compared = tasks.filter(({ candidate, baseline }) => candidate.length > 0 && baseline.length > 0);
  if (!compared.some(({ candidate, baseline }) => candidate.length + baseline.length > 2)) return undefined;
  const { draws, share, replicates } = planResampling(compared.flatMap(({ candidate, baseline }) => [candidate.length, baseline.length]));
  const random = createSeededRandom('probability of improvement', seed);
  const resampled = new Float64Array(replicates);
  let sum = 0;
  for (const [position, task] of compared.entries()) {
    const contest = new Contest(task, draws[2 * position] ?? 0, draws[2 * position + 1] ?? 0);
    sum += contest.computeSuperiority();
    for (let replicate = 0; replicate < replicates; replicate += 1)
      resampled[replicate] = (resampled[replicate] ?? 0) + contest.resampleSuperiority(random);
  }
  const value = sum / compared.length;
  const means = Array.from(resampled, (total) => total / compared.length);
  const ends = computeShrunkenEnds(means, confidence, value, share);
  if (ends === undefined || ends.low < ends.high) return ends && { value, ...ends };
  const reach = computeReach(compared, confidence);
  return { value, low: Math.max(0, value - reach), high: Math.min(1, value + reach) };
}

/**
 * Computes how far the probability may be from its estimate where all resamples give the same one, as when each return of the candidate is higher
 * than each of the baseline: what Clopper and Pearson (1934) leave open after as many equal contests as the smallest sample allows.
 */
function computeReach(tasks: readonly TaskReturns[], confidence: number): number {
  const fewest = Math.min(...tasks.map(({ candidate, baseline }) => Math.min(candidate.length, baseline.length)));
  return 1 - computeClopperPearsonInterval({ successes: fewest, trials: fewest }, confidence).low;
}

/** The returns of one task, counted by distinct value. */
class Contest {
  readonly #candidate: Arm;
  readonly #baseline: Arm;

  constructor({ candidate, baseline }: TaskReturns, candidateDraws: number, baselineDraws: number) {
    const all = new Float64Array(candidate.length + baseline.length);
    all.set(candidate);
    all.set(baseline, candidate.length);
    const values = findDistinctValues(all.sort());
    this.#candidate = createArm(candidate, values, candidateDraws);
    this.#baseline = createArm(baseline, values, baselineDraws);
  }

  computeSuperiority(): number {
    for (const { cells, counts } of [this.#candidate, this.#baseline]) for (const cell of cells) counts[cell] = (counts[cell] ?? 0) + 1;
    return takeSuperiority(this.#candidate.counts, this.#baseline.counts);
  }

  resampleSuperiority(random: Random): number {
    for (const { cells, draws, counts } of [this.#candidate, this.#baseline]) countDraws(random, cells, draws, counts);
    return takeSuperiority(this.#candidate.counts, this.#baseline.counts);
  }
}

interface Arm {
  readonly cells: Uint32Array;
  /** Size of a resample. */
  readonly draws: number;
  /** All counts are 0 between two uses. */
  readonly counts: Uint32Array;
}

function createArm(returns: ArrayLike<number>, values: Float64Array, draws: number): Arm {
  return { cells: findCells(Float64Array.from(returns).sort(), values), draws, counts: new Uint32Array(values.length) };
}

/** Computes U/(n·m), and resets the counts to 0. */
function takeSuperiority(candidate: Uint32Array, baseline: Uint32Array): number {
  let [wins, candidates, below] = [0, 0, 0];
  for (let cell = 0; cell < candidate.length; cell += 1) {
    const [higher, tied] = [candidate[cell] ?? 0, baseline[cell] ?? 0];
    wins += higher * (below + tied / 2);
    candidates += higher;
    below += tied;
  }
  candidate.fill(0);
  baseline.fill(0);
  return wins / (candidates * below);
}
