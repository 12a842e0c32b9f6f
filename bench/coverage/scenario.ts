import type { Random } from '../../src/kernel/seeded-random.ts';
import type { Target } from './targets.ts';

/** What one simulated evaluation came to: where its interval lies as seen from the true mean. */
export type CoverageOutcome = 'holds' | 'below' | 'above' | 'no interval';
/** What one simulated comparison came to. */
export type DecisionOutcome = 'promote' | 'regress' | 'equivalent' | 'inconclusive';
export type TrialOutcome = CoverageOutcome | DecisionOutcome;

export interface Trial {
  readonly outcome: TrialOutcome;
  /** Episodes, or pairs of them, until the stop. */
  readonly episodes: number;
}

export type Group = 'certified' | 'approximate' | 'asymptotic' | 'fixed' | 'watched' | 'clustered' | 'decisions';

/** One row of the study: a rule, and returns that it meets again and again. */
export interface Scenario {
  readonly group: Group;
  /** What tells it from the others of its group; no two are alike. */
  readonly name: string;
  /** Asked for, in units of the return; undefined where the rule aims at none. */
  readonly halfWidth: number | undefined;
  /** (z·σ/h)²: what a normal interval would take if the variance were known. */
  readonly knownVarianceEpisodes: number | undefined;
  /** Trials for each one that the study is asked for: cheap scenarios are tried more often. */
  readonly effort: number;
  /** Trials in the short form of the study; undefined for a scenario that is not in it. */
  readonly shortRuns: number | undefined;
  readonly targets: readonly Target[];
  /** One trial; `random` is its only source of chance. */
  trial(random: Random): Trial;
}
