import type { Random } from '../../src/kernel/seeded-random.ts';

/** What a figure of the study has to be. */
export type Target =
  /** Trials that came to one of these outcomes, as a share of all. */
  | { readonly kind: 'share'; readonly figure: string; readonly of: readonly TrialOutcome[]; readonly atLeast: number }
  /** Mean episodes of a trial, in multiples of `unit`. */
  | { readonly kind: 'episodes'; readonly figure: string; readonly unit: number; readonly atMost: number }
  /** The same, where it is known what they come to, give or take `within`: to take fewer is as suspect as to take more. */
  | { readonly kind: 'known episodes'; readonly figure: string; readonly unit: number; readonly about: number; readonly within: number }
  /** Of the bias-reduced estimate, either way; in standard deviations of the plain one. */
  | { readonly kind: 'bias'; readonly figure: string; readonly atMost: number };

/** What one simulated evaluation came to: where its interval lies as seen from the true mean. */
export type CoverageOutcome = 'holds' | 'below' | 'above' | 'no interval';
/** What one simulated comparison came to. */
export type DecisionOutcome = 'promote' | 'regress' | 'equivalent' | 'inconclusive';
/** Whether one simulated evaluation was said to have episodes that depend on one another. */
export type WarningOutcome = 'warned' | 'silent';
export type TrialOutcome = CoverageOutcome | DecisionOutcome | WarningOutcome;

/** What could be quoted at a stop: the plain mean, the middle of the interval, and the mean less its bias. */
export type Estimate = 'mean' | 'middle' | 'reduced';

export interface Trial {
  readonly outcome: TrialOutcome;
  /** Episodes until the stop; pairs of them in a comparison. */
  readonly episodes: number;
  /** How far each estimate is off, in thousandths of the scenario's unit: whole numbers. Only where estimates are looked at. */
  readonly errors?: Readonly<Record<Estimate, number>>;
}

export const GROUPS = ['certified', 'approximate', 'asymptotic', 'fixed', 'watched', 'tasks', 'decisions', 'bias', 'dependence'] as const;
export type Group = (typeof GROUPS)[number];

/** One row of the study: a rule, and returns that it meets again and again. */
export interface Scenario {
  readonly group: Group;
  /** What tells it from the others of its group; no two are alike. */
  readonly name: string;
  /** (z·σ/h)², what a normal interval would take if the variance were known; undefined where there is no target half-width. */
  readonly knownVarianceEpisodes?: number;
  /** Trials for each one that the study is asked for; 1 unless given. Cheap scenarios are tried more often. */
  readonly effort?: number;
  /** Empty where nothing is promised: the figures are shown all the same. */
  readonly targets: readonly Target[];
  /** One trial; `random` is its only source of chance. */
  trial(random: Random): Trial;
}

/** Of all scenarios no two have the same. */
export function titleOf({ group, name }: Scenario): string {
  return `${group}: ${name}`;
}
