import { quantileSorted } from 'simple-statistics';
import { createSeededRandom } from '../../kernel/seeded-random.ts';
import { planAffordableSimulation, type AffordableSimulation, type SequentialStop } from './affordable-simulation.ts';
import type { Bounds } from '../intervals/bounds.ts';
import { drawReturnsOfOneRun, type SimulatedReturns } from './simulated-returns.ts';
import { createStoppingRule } from '../stopping/stopping.ts';

export interface Spread {
  /** 5 % quantile. */
  readonly low: number;
  readonly median: number;
  /** 95 % quantile. */
  readonly high: number;
}

export interface EpisodeForecast {
  /** Whole numbers. Runs that did not end count with the episodes that they had by then. */
  readonly episodes: Spread;
  /** Share of the runs that the budget ended before the rule was satisfied. */
  readonly shareCut: number;
  /** Share of the runs that were given up because they took longer than can be simulated. */
  readonly shareGivenUp: number;
  readonly simulation: {
    readonly runs: number;
    /** The number of episodes over all runs. */
    readonly episodes: number;
    /** Half-width of the simulated rule: wider than the requested one where that would have taken too long. */
    readonly halfWidth: number;
  };
}

export interface SimulatedEvaluation {
  readonly stop: SequentialStop;
  readonly bounds: Bounds | undefined;
  readonly returns: SimulatedReturns;
  readonly budgetEpisodes: number | undefined;
}

type Ending = 'rule' | 'budget' | 'given-up';

/**
 * Simulates how many episodes a stopping rule will take: runs the rule itself on simulated returns many times. Equal returns give equal results.
 *
 * Work comes in runs of some milliseconds, so that the caller can do something else, or stop, between two of them.
 */
export class EpisodeSimulation {
  readonly #evaluation: SimulatedEvaluation;
  readonly #affordable: AffordableSimulation;
  readonly #runs: { readonly episodes: number; readonly ending: Ending }[] = [];
  #simulated = 0;

  /** @throws InputError as `createStoppingRule` does. */
  constructor(evaluation: SimulatedEvaluation) {
    createStoppingRule(evaluation.stop, evaluation.bounds);
    this.#evaluation = evaluation;
    this.#affordable = planAffordableSimulation(evaluation.stop, evaluation.returns, evaluation.bounds);
  }

  get isDone(): boolean {
    return this.#runs.length >= this.#affordable.runs;
  }

  run(): void {
    const { stop, factor, mostEpisodes } = this.#affordable;
    const { bounds, returns, budgetEpisodes = Infinity } = this.#evaluation;
    const next = drawReturnsOfOneRun(returns, createSeededRandom('episode forecast', this.#runs.length));
    const rule = createStoppingRule(stop, bounds);
    const most = Math.min(mostEpisodes, Math.ceil(budgetEpisodes / factor));
    let episodes = 0;
    while (!rule.isSatisfied() && episodes < most) {
      const value = next();
      rule.fold({ low: value, high: value });
      episodes += 1;
    }
    this.#simulated += episodes;
    this.#runs.push(this.#decideEnding(Math.ceil(episodes * factor), rule.isSatisfied()));
  }

  /** @throws RangeError before the first run. */
  forecast(): EpisodeForecast {
    const ascending = this.#runs.map(({ episodes }) => episodes).toSorted((a, b) => a - b);
    const computeQuantile = (share: number): number => Math.round(quantileSorted(ascending, share));
    return {
      episodes: { low: computeQuantile(0.05), median: computeQuantile(0.5), high: computeQuantile(0.95) },
      shareCut: this.#computeShare('budget'),
      shareGivenUp: this.#computeShare('given-up'),
      simulation: { runs: this.#runs.length, episodes: this.#simulated, halfWidth: this.#affordable.stop.halfWidth },
    };
  }

  #decideEnding(episodes: number, isSatisfied: boolean): { episodes: number; ending: Ending } {
    const { budgetEpisodes = Infinity } = this.#evaluation;
    if (isSatisfied && episodes <= budgetEpisodes) return { episodes, ending: 'rule' };
    return episodes >= budgetEpisodes ? { episodes: budgetEpisodes, ending: 'budget' } : { episodes, ending: 'given-up' };
  }

  #computeShare(ending: Ending): number {
    return this.#runs.filter((run) => run.ending === ending).length / this.#runs.length;
  }
}
