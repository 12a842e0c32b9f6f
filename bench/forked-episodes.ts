import type { EvaluationRequest } from '../src/orchestrator/evaluate.ts';
import type { Benchmark, BenchmarkContext } from './benchmark.ts';
import { CARTPOLE, RealSandboxes } from './real-sandboxes.ts';
import { showSpread, spreadOf } from './spread.ts';

const SANDBOXES = 64;

const INSIDE = 'forked beside plain';

export const forkedEpisodes: Benchmark = {
  name: 'forked-episodes',
  summary: 'CartPole with a trained policy on forked sandboxes beside plain ones',
  measurements: () => [INSIDE],
  async run({ quick, say, measured }: BenchmarkContext) {
    const count = quick ? 4 : SANDBOXES;
    const episodes = quick ? 200 : 2_500;
    const rates = await measured(INSIDE, () => inTurns(count, episodes, quick ? 2 : 6, say));
    const ratio = spreadOf(rates.forked.map((rate, round) => rate / (rates.plain[round] ?? Number.NaN)));
    const cells = [showSpread(spreadOf(rates.plain), 0), showSpread(spreadOf(rates.forked), 0), showSpread(ratio, 3)];
    return {
      tables: [
        {
          title: 'Episodes a second: median and range of alternating runs',
          columns: ['sandboxes', 'episodes', 'plain', 'forked', 'ratio'],
          rows: [[count, episodes, ...cells]],
        },
      ],
      checks: [
        {
          what: `CartPole, ${count} forked sandboxes`,
          target: '≥ 1.0 × as many episodes a second as on plain ones',
          measured: showSpread(ratio, 3),
          met: ratio.median >= 1,
        },
      ],
      notes: ['Both are warm all the time, and idle while the others play. Loading the policy belongs to both sides.'],
    };
  },
};

async function inTurns(count: number, episodes: number, rounds: number, say: (text: string) => void) {
  await using forked = await RealSandboxes.warm(count, 'forked');
  await using plain = await RealSandboxes.warm(count, 'plain');
  const request = await forked.request(CARTPOLE, episodes);
  const rates = { forked: new Array<number>(), plain: new Array<number>() };
  // What is compiled and read in the first run belongs to neither.
  const means = [await play(forked, request, []), await play(plain, request, [])];
  for (let round = 0; round < rounds; round += 1) {
    say(`round ${round + 1} of ${rounds}`);
    // The one that is first in one round is second in the next.
    if (round % 2 === 0) await play(plain, request, rates.plain);
    await play(forked, request, rates.forked);
    if (round % 2 === 1) await play(plain, request, rates.plain);
  }
  if (means[0] !== means[1]) throw new Error(`the mean returns are ${means.join(' and ')}: they did not play the same`);
  return rates;
}

/** @returns the mean return, and adds the episodes a second to `rates`. */
async function play(sandboxes: RealSandboxes, request: EvaluationRequest, rates: number[]): Promise<number | null> {
  const start = performance.now();
  const { official, partial } = await sandboxes.evaluate(request);
  rates.push((1000 * official.episodes) / (performance.now() - start));
  if (partial) throw new Error('the evaluation was partial');
  return official.mean;
}
