import type { Bounds } from '../intervals/bounds.ts';
import type { Interval } from '../intervals/intervals.ts';

/** When to stop, as the suite says it. */
export type Stop =
  | { readonly rule: 'fixed'; readonly episodes: number; readonly confidence: number }
  /** Every `halfWidth` in units of the return. */
  | { readonly rule: 'certified'; readonly halfWidth: number; readonly confidence: number }
  | { readonly rule: 'approximate'; readonly halfWidth: number; readonly confidence: number }
  /** `tightestAt`: number of episodes for which the interval is made to be as narrow as it can be; a whole number from 64 on. */
  | { readonly rule: 'asymptotic'; readonly halfWidth: number; readonly confidence: number; readonly tightestAt: number };

/** What one episode counts for, in units of the return. The two differ only while the episode is unresolved. */
export interface Score {
  readonly low: number;
  readonly high: number;
  /** What the episode returned, where it counts for something else than that. */
  readonly returned?: { readonly low: number; readonly high: number };
  /** Where the score had to lie, as was known before the episode was played; the bounds of the return unless it is given. */
  readonly range?: Bounds;
}

/**
 * Decides after every folded episode whether the answer is good enough. Scores are folded in index order; everything that a rule
 * says depends on the folded prefix alone, never on when or where the episodes were played.
 */
export interface StoppingRule {
  fold(score: Score): void;
  /** Whether the folded prefix satisfies the rule. */
  isSatisfied(): boolean;
  /** For the mean over what has been folded; undefined while there is none. */
  interval(): Interval | undefined;
  /** The interval for what has been folded by now, whatever is folded later; one that takes long is made only when it is asked for. */
  intervalLater(): () => Interval | undefined;
  /** Episodes that are likely still needed: 0 once satisfied, else a whole number from 1 on. Bounds how far dispatch runs ahead. */
  expectedRemaining(): number;
  /** What a reader of the interval must know besides, each a full sentence. */
  warnings(): readonly string[];
  readonly confidence: number;
  /** Aimed at, in units of the return; undefined where the rule aims at none and so stops whatever the returns are. */
  readonly targetHalfWidth: number | undefined;
  /**
   * Episodes that the rule takes on average where nothing but the spread of the returns decides, in multiples of (z·σ/h)²; undefined where it takes as many
   * whatever the returns are.
   */
  readonly priceOfSpread: number | undefined;
}
