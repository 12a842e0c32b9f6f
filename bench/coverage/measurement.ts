import { seededRandom } from '../../src/kernel/seeded-random.ts';
import type { Scenario, TrialOutcome } from './scenario.ts';

/** What many trials of a scenario came to. Whole numbers throughout, so that the order of adding up does not matter. */
export interface Measurement {
  readonly runs: number;
  readonly outcomes: Readonly<Partial<Record<TrialOutcome, number>>>;
  readonly episodes: number;
  /** Sum of the squared numbers of episodes. */
  readonly squares: number;
}

export const NOTHING: Measurement = { runs: 0, outcomes: {}, episodes: 0, squares: 0 };

/** Trials `first` … `first + runs − 1`; the scenario's name and a trial's number are its seed, whoever runs it. */
export function measure(scenario: Scenario, first: number, runs: number): Measurement {
  const outcomes: Partial<Record<TrialOutcome, number>> = {};
  let [episodes, squares] = [0, 0];
  for (let run = first; run < first + runs; run += 1) {
    const trial = scenario.trial(seededRandom(`coverage of ${scenario.group} ${scenario.name}`, run));
    outcomes[trial.outcome] = (outcomes[trial.outcome] ?? 0) + 1;
    episodes += trial.episodes;
    squares += trial.episodes ** 2;
  }
  return { runs, outcomes, episodes, squares };
}

export function together(a: Measurement, b: Measurement): Measurement {
  const outcomes: Partial<Record<TrialOutcome, number>> = { ...a.outcomes };
  for (const outcome of outcomesOf(b)) outcomes[outcome] = (outcomes[outcome] ?? 0) + (b.outcomes[outcome] ?? 0);
  return { runs: a.runs + b.runs, outcomes, episodes: a.episodes + b.episodes, squares: a.squares + b.squares };
}

export interface Share {
  readonly count: number;
  readonly share: number;
  /** Standard error of the share; of one trial more and half of a success more, so that it is not 0 at the ends. */
  readonly error: number;
}

export function shareOf({ outcomes, runs }: Measurement, of: readonly TrialOutcome[]): Share {
  const count = of.reduce((sum, outcome) => sum + (outcomes[outcome] ?? 0), 0);
  const inner = (count + 0.5) / (runs + 1);
  return { count, share: count / runs, error: Math.sqrt((inner * (1 - inner)) / runs) };
}

/** Mean number of episodes of a trial, and its standard error. */
export function episodesOf({ episodes, squares, runs }: Measurement): { readonly mean: number; readonly error: number } {
  const mean = episodes / runs;
  const variance = runs < 2 ? 0 : Math.max(0, squares - episodes * mean) / (runs - 1);
  return { mean, error: Math.sqrt(variance / runs) };
}

const ALL_OUTCOMES: readonly TrialOutcome[] = [
  'holds',
  'below',
  'above',
  'no interval',
  'promote',
  'regress',
  'equivalent',
  'inconclusive',
];

function outcomesOf({ outcomes }: Measurement): readonly TrialOutcome[] {
  return ALL_OUTCOMES.filter((outcome) => outcomes[outcome] !== undefined);
}
