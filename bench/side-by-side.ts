import type { EvaluationRequest } from '../src/orchestrator/evaluate.ts';
import type { Played } from './bare-loop.ts';
import type { RealSandboxes } from './real-sandboxes.ts';
import { spreadOf, type Spread } from './spread.ts';

export interface SideBySide {
  readonly bare: Spread;
  readonly muster: Spread;
  /** Of the two neighbouring runs of each round, so that a machine that gets slower or faster meanwhile does not show. */
  readonly ratio: Spread;
  /** Seconds until every runner of the bare loop had the policy. */
  readonly loading: Spread;
  readonly stepsPerEpisode: number;
  readonly meanReturn: number;
}

/** Episodes a second of Muster and of the bare loop, in turns; the one that is first in one round is second in the next. Both load the policy first. */
export async function sideBySide(
  sandboxes: RealSandboxes,
  request: EvaluationRequest,
  rounds: number,
  playBare: () => Promise<Played>,
): Promise<SideBySide> {
  const bareRates: number[] = [];
  const musterRates: number[] = [];
  const loading: number[] = [];
  let last: Played | undefined;
  const bare = async (): Promise<void> => {
    last = await playBare();
    loading.push(last.loadSeconds);
    bareRates.push(last.episodes / last.seconds);
  };
  const muster = async (): Promise<void> => {
    const start = performance.now();
    const { official, partial } = await sandboxes.evaluate(request);
    musterRates.push((1000 * official.episodes) / (performance.now() - start));
    if (partial) throw new Error('the evaluation was partial');
    if (last && Math.abs((official.mean ?? 0) - last.meanReturn) > 1e-6)
      throw new Error(`Muster's mean return is ${official.mean}, the bare loop's ${last.meanReturn}: they did not play the same`);
  };
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) await bare();
    await muster();
    if (round % 2 === 1) await bare();
  }
  const ratios = musterRates.map((rate, round) => rate / (bareRates[round] ?? Number.NaN));
  const { steps, episodes, meanReturn } = last ?? { steps: 0, episodes: 1, meanReturn: 0 };
  return {
    bare: spreadOf(bareRates),
    muster: spreadOf(musterRates),
    ratio: spreadOf(ratios),
    loading: spreadOf(loading),
    stepsPerEpisode: steps / episodes,
    meanReturn,
  };
}
