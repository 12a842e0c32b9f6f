import type { CandidateStatistics, EvidencePoint, Verdict } from './comparison-statistics.ts';
import type { ComparisonTerms } from './comparison-terms.ts';
import { Course } from '../results/course.ts';
import { DifferenceSequence } from './difference-sequence.ts';
import { toFigure } from '../intervals/figure.ts';
import { createInterval } from '../intervals/intervals.ts';
import { PairedEvidence } from './paired-evidence.ts';
import { PairedSample } from './paired-sample.ts';
import {
  computeProbabilityOfImprovement,
  type ImprovementQuestion,
  type ProbabilityOfImprovement,
  type WorkOutImprovement,
} from '../resampling/probability-of-improvement.ts';
import { warnOfDependence } from '../folding/serial-dependence.ts';
import type { Score } from '../stopping/stopping-rule.ts';

/** A larger share of unresolved pairs prevents a promotion: the losses may not have been random. */
const MOST_UNRESOLVED = 0.02;
/**
 * Pseudo-pairs in the uncertainty of the mean difference. They make the first estimate of the need some 50 pairs: enough for many sandboxes, and
 * cheap if wasted.
 */
const PSEUDO_PAIRS = 8;

/** The figures of a candidate's pairs. */
export type CandidateFigures = Omit<CandidateStatistics, 'failures'>;

/** A verdict; a candidate without one at the end is `inconclusive`. */
export type Decision = Exclude<Verdict, 'inconclusive'>;

export interface RunningCandidate {
  readonly name: string;
  readonly pairs: number;
  /** Candidate minus baseline, in units of the return, over the resolved pairs. */
  readonly difference: number | undefined;
  /** Half-width of the interval for the mean difference, in units of the return. The interval need not be centred on the difference. */
  readonly halfWidth: number | undefined;
  readonly interval: { readonly low: number; readonly high: number } | undefined;
  /** log10 of E⁺ and E⁻, and of the threshold of either. */
  readonly evidence: { readonly promote: number; readonly regress: number; readonly needed: number };
  /** It is undefined while more pairs are needed. */
  readonly verdict: Decision | undefined;
}

/**
 * One candidate against the baseline, pair by pair in index order, until there is a verdict. With Δ the mean difference, candidate minus baseline,
 * and δ the margin: `promote` says Δ > δ, `regress` Δ < −δ, `equivalent` |Δ| ≤ δ.
 *
 * Each of the two directions, and either half of `equivalent` (Δ > −δ and Δ < δ), is wrong with probability at most α/(2C) over all time. For any Δ,
 * at most two of these errors can make a verdict wrong, so the verdict is wrong with probability at most α/C. The interval uses the same evidence, so
 * it never contradicts the verdict.
 *
 * `promote` must wait while more than 2 % of the pairs are unresolved, and is checked again after every pair. That costs no confidence: the evidence
 * counts every unresolved pair at its worst, so its bound holds for all times together.
 */
export class CandidateComparison {
  readonly #name: string;
  readonly #terms: ComparisonTerms;
  readonly #sample = new PairedSample();
  readonly #evidence: PairedEvidence;
  readonly #sequence: DifferenceSequence;
  readonly #course = new Course<EvidencePoint>();
  #verdict: Decision | undefined;

  constructor(name: string, terms: ComparisonTerms) {
    this.#name = name;
    this.#terms = terms;
    this.#evidence = new PairedEvidence(terms.margin);
    this.#sequence = new DifferenceSequence(terms.margin, terms.needed);
  }

  /** Adds the next pair. @throws RangeError when there is a verdict already. */
  fold(task: number, baseline: Score, candidate: Score): void {
    if (this.#verdict !== undefined) throw new RangeError(`the verdict on ${this.#name} is reached, it takes no further pair`);
    const low = this.#computeShare(candidate.low - baseline.high);
    const high = this.#computeShare(candidate.high - baseline.low);
    this.#sample.add(task, baseline, candidate);
    this.#evidence.fold(low, high);
    this.#sequence.fold(low, high);
    this.#verdict = this.#decide();
    this.#course.note(this.#sample.pairs, () => this.#computePoint());
  }

  get pairs(): number {
    return this.#sample.pairs;
  }

  /** It is undefined while more pairs are needed. */
  get verdict(): Decision | undefined {
    return this.#verdict;
  }

  /** Estimates the pairs until a verdict: 0 once there is one, otherwise a whole number from 1 on, or Infinity when none can be expected. */
  estimateRemaining(): number {
    if (this.#verdict !== undefined) return 0;
    const { count, mean = 0, sumOfSquares } = this.#sample.differences;
    const { range, needed } = this.#terms;
    const average = (mean / range) * (count / (count + 1));
    const variance = (sumOfSquares / range / range + 1) / (count + 1);
    const decided = this.#evidence.estimateUntil(needed, average, variance, Math.sqrt(variance / (count + PSEUDO_PAIRS)));
    const equivalent = this.#sequence.estimateWithinMargin(average, variance) - this.pairs;
    return Math.max(1, Math.ceil(Math.min(decided, equivalent)));
  }

  getRunning(): RunningCandidate {
    const { promote, regress, low, high } = this.#computePoint();
    return {
      name: this.#name,
      pairs: this.pairs,
      difference: this.#sample.differences.mean,
      halfWidth: this.pairs === 0 ? undefined : (high - low) / 2,
      interval: this.pairs === 0 ? undefined : { low, high },
      evidence: { promote, regress, needed: this.#terms.needed / Math.LN10 },
      verdict: this.#verdict,
    };
  }

  /** @param seed of the bootstrap. @param failed how many of the candidate's episodes failed. */
  computeOfficial(seed: number, failed = 0): CandidateFigures {
    const { tasks, confidence } = this.#askImprovement(seed);
    return this.#assembleOfficial(computeProbabilityOfImprovement(tasks, confidence, seed), failed);
  }

  /**
   * Does the same as `computeOfficial`, with the slow figures computed by `workOut`. Call it only once no more pairs are folded: a later pair would be in
   * one half of the figures.
   */
  async computeOfficialBy(workOut: WorkOutImprovement, seed: number, failed = 0): Promise<CandidateFigures> {
    return this.#assembleOfficial(await workOut(this.#askImprovement(seed)), failed);
  }

  #askImprovement(seed: number): ImprovementQuestion {
    return { tasks: this.#sample.kept.groupByTask(), confidence: this.#terms.confidence, seed };
  }

  #assembleOfficial(improvement: ProbabilityOfImprovement | undefined, failed: number): CandidateFigures {
    const sample = this.#sample;
    const { promote, regress, low, high } = this.#computePoint();
    const { intervalConfidence, needed } = this.#terms;
    return {
      name: this.#name,
      verdict: this.#verdict ?? 'inconclusive',
      decidedAt: this.#verdict === undefined ? null : this.pairs,
      pairs: this.pairs,
      unresolvedPairs: sample.unresolved,
      mean: toFigure(sample.candidate.mean),
      baselineMean: toFigure(sample.baseline.mean),
      difference: toFigure(sample.differences.mean),
      biasReducedDifference: toFigure(this.biasReducedDifference),
      standardError: toFigure(sample.differences.standardError),
      interval: this.pairs === 0 ? null : createInterval('certified', low, high, intervalConfidence),
      evidence: { promote, regress, needed: needed / Math.LN10 },
      course: this.#course.listPoints(this.pairs, () => this.#computePoint()),
      discordant: sample.discordant,
      smallestEffect: this.#verdict === undefined ? toFigure(sample.smallestEffect) : null,
      probabilityOfImprovement: improvement ?? null,
      warnings: this.#listWarnings(failed),
    };
  }

  /**
   * The mean difference, less the bias of stopping at the verdict; undefined without a resolved pair. `equivalent` is equally biased in both
   * directions, and a budget in neither.
   */
  get biasReducedDifference(): number | undefined {
    const { mean, variance } = this.#sample.differences;
    if (mean === undefined || variance === undefined) return mean;
    if (this.#verdict === undefined || this.#verdict === 'equivalent') return mean;
    const { range } = this.#terms;
    return mean - range * this.#evidence.computeBias(this.#verdict, mean / range, variance / range / range);
  }

  #decide(): Decision | undefined {
    const { needed } = this.#terms;
    if (this.#evidence.promote >= needed && !this.#hasTooManyUnresolved()) return 'promote';
    if (this.#evidence.regress >= needed) return 'regress';
    return this.#sequence.isWithinMargin ? 'equivalent' : undefined;
  }

  #hasTooManyUnresolved(): boolean {
    return this.#sample.unresolved / this.pairs > MOST_UNRESOLVED;
  }

  /** Returns a difference as a share of the range, kept within [−1, 1] despite rounding. */
  #computeShare(difference: number): number {
    return Math.min(1, Math.max(-1, difference / this.#terms.range));
  }

  #computePoint(): EvidencePoint {
    const { range } = this.#terms;
    return {
      pairs: this.pairs,
      promote: this.#evidence.promote / Math.LN10,
      regress: this.#evidence.regress / Math.LN10,
      difference: toFigure(this.#sample.differences.mean),
      low: this.#sequence.low * range,
      high: this.#sequence.high * range,
    };
  }

  #listWarnings(failed: number): string[] {
    const { resolved, unresolved, discordant, kept, dependence } = this.#sample;
    const warnings = warnOfDependence(dependence, 'differences');
    if (this.#hasTooManyUnresolved())
      warnings.push(
        `${unresolved} of ${this.pairs} pairs are unresolved: the infrastructure lost an episode of theirs for good. With more than 2 % of such pairs no candidate is promoted; mend what loses episodes, and compare again.`,
      );
    // When all of its episodes failed, the failures are the problem to solve.
    if (resolved > failed && discordant === 0)
      warnings.push(
        `The two never differed: both returned the same in all ${resolved} resolved pairs. Check that the checkpoints are different ones.`,
      );
    if (this.#sequence.contradicted)
      warnings.push(
        'The differences contradict every mean: their distribution changes along the indices. The interval is the last one before that, and cannot be relied on.',
      );
    if (kept.count < resolved)
      warnings.push(`Probability of improvement is of the first ${kept.count} resolved pairs; the returns of later ones are not kept.`);
    return warnings;
  }
}
