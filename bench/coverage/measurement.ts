import { createSeededRandom } from '../../src/kernel/seeded-random.ts';
import type { Estimate, Scenario, Trial, TrialOutcome } from './scenario.ts';

/** What many trials of a scenario came to. Whole numbers throughout, so that the order of adding up does not matter. */
export interface Measurement {
  readonly runs: number;
  readonly outcomes: Readonly<Partial<Record<TrialOutcome, number>>>;
  readonly episodes: number;
  /** Sum of the squared numbers of episodes. */
  readonly squares: number;
  /** Of the trials that had estimates. */
  readonly estimated: number;
  readonly errors: Readonly<Record<Estimate, ErrorSums>>;
}

/** In thousandths of a unit, and their squares. */
interface ErrorSums {
  readonly sum: number;
  readonly squares: number;
}

const NO_ERRORS = { mean: { sum: 0, squares: 0 }, middle: { sum: 0, squares: 0 }, reduced: { sum: 0, squares: 0 } };
export const NOTHING: Measurement = { runs: 0, outcomes: {}, episodes: 0, squares: 0, estimated: 0, errors: NO_ERRORS };

/** Trials `first` … `first + runs − 1`; the scenario's name and a trial's number are its seed, so every run of it is the same. */
export function measure(scenario: Scenario, first: number, runs: number): Measurement {
  const outcomes: Partial<Record<TrialOutcome, number>> = {};
  let [episodes, squares, estimated] = [0, 0, 0];
  let errors: Measurement['errors'] = NO_ERRORS;
  for (let run = first; run < first + runs; run += 1) {
    const trial = scenario.trial(createSeededRandom(`coverage of ${scenario.group} ${scenario.name}`, run));
    outcomes[trial.outcome] = (outcomes[trial.outcome] ?? 0) + 1;
    episodes += trial.episodes;
    squares += trial.episodes ** 2;
    if (trial.errors === undefined) continue;
    estimated += 1;
    errors = added(errors, sumsOf(trial.errors));
  }
  return { runs, outcomes, episodes, squares, estimated, errors };
}

export function together(a: Measurement, b: Measurement): Measurement {
  const outcomes: Partial<Record<TrialOutcome, number>> = { ...a.outcomes };
  for (const outcome of outcomesOf(b)) outcomes[outcome] = (outcomes[outcome] ?? 0) + (b.outcomes[outcome] ?? 0);
  const [episodes, squares] = [a.episodes + b.episodes, a.squares + b.squares];
  return { runs: a.runs + b.runs, outcomes, episodes, squares, estimated: a.estimated + b.estimated, errors: added(a.errors, b.errors) };
}

export interface Bias {
  /** Mean error, in units of the scenario. */
  readonly bias: number;
  /** Standard error of the bias. */
  readonly error: number;
  /** Root of the mean squared error. */
  readonly distance: number;
  readonly deviation: number;
}

export function biasOf({ errors, estimated }: Measurement, estimate: Estimate): Bias {
  const { sum, squares } = errors[estimate];
  const bias = sum / estimated / 1000;
  const meanSquare = squares / estimated / 1e6;
  const deviation = Math.sqrt(Math.max(0, meanSquare - bias ** 2));
  return { bias, error: deviation / Math.sqrt(estimated), distance: Math.sqrt(meanSquare), deviation };
}

function sumsOf(errors: NonNullable<Trial['errors']>): Measurement['errors'] {
  const sums = (error: number): ErrorSums => ({ sum: error, squares: error ** 2 });
  return { mean: sums(errors.mean), middle: sums(errors.middle), reduced: sums(errors.reduced) };
}

function added(a: Measurement['errors'], b: Measurement['errors']): Measurement['errors'] {
  const both = (estimate: Estimate): ErrorSums => ({
    sum: a[estimate].sum + b[estimate].sum,
    squares: a[estimate].squares + b[estimate].squares,
  });
  return { mean: both('mean'), middle: both('middle'), reduced: both('reduced') };
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
  'warned',
  'silent',
];

function outcomesOf({ outcomes }: Measurement): readonly TrialOutcome[] {
  return ALL_OUTCOMES.filter((outcome) => outcomes[outcome] !== undefined);
}
