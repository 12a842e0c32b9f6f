import type { Bounds } from '../intervals/bounds.ts';
import type { Interval } from '../intervals/intervals.ts';

/** When to stop, as the suite says it. */
export type Stop =
  | { readonly rule: 'fixed'; readonly episodes: number; readonly confidence: number }
  /** Every `halfWidth` in units of the return. */
  | { readonly rule: 'certified'; readonly halfWidth: number; readonly confidence: number }
  | { readonly rule: 'approximate'; readonly halfWidth: number; readonly confidence: number }
  /** `tightestAt`: number of episodes at which the interval is as narrow as possible; a whole number from 64 on. */
  | { readonly rule: 'asymptotic'; readonly halfWidth: number; readonly confidence: number; readonly tightestAt: number };

/** The score of one episode, in units of the return. The two differ only while the episode is unresolved. */
export interface Score {
  readonly low: number;
  readonly high: number;
  /** The episode's return, where its score differs from it. */
  readonly returned?: { readonly low: number; readonly high: number };
  /** The possible range of the score, as known before the episode was played; the bounds of the return when left out. */
  readonly range?: Bounds;
}

/**
 * Decides after every folded episode whether the answer is precise enough. Scores are folded in index order; everything that a rule says depends on
 * the folded prefix alone, never on when or where the episodes were played.
 */
export interface StoppingRule {
  fold(score: Score): void;
  /** Whether the folded prefix satisfies the rule. */
  isSatisfied(): boolean;
  /** Returns the interval of the mean over the folded prefix; undefined while there is none. */
  computeInterval(): Interval | undefined;
  /** Returns the interval as of now, whatever is folded later; a slow one is computed only when the returned function is called. */
  deferInterval(): () => Interval | undefined;
  /** Estimates the episodes that are still needed: 0 once satisfied, otherwise a whole number from 1 on. Bounds how far dispatch runs ahead. */
  estimateRemaining(): number;
  /** Lists the warnings that a reader of the interval needs, each a full sentence. */
  listWarnings(): readonly string[];
  readonly confidence: number;
  /** The requested half-width, in units of the return; undefined for a rule without one, which stops whatever the returns are. */
  readonly targetHalfWidth: number | undefined;
  /**
   * Average number of episodes where only the spread of the returns decides, in multiples of (z·σ/h)²; undefined where the number does not depend on
   * the returns.
   */
  readonly priceOfSpread: number | undefined;
}
