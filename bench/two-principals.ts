import { availableParallelism } from 'node:os';
import type { Benchmark, BenchmarkContext, Cell } from './benchmark.ts';
import { CARTPOLE, RealSandboxes, type Start, type Workload } from './real-sandboxes.ts';
import { showSpread, spreadOf } from './spread.ts';

const SIZES = {
  full: { rounds: 5, evaluations: 4, episodes: 20 },
  quick: { rounds: 1, evaluations: 2, episodes: 20 },
};
const STARTS: readonly Start[] = ['forked', 'plain'];

/** The same environment, which is known to run nothing of a caller's, or is made by a function that a suite names. */
const WORKLOADS = {
  data: CARTPOLE,
  code: { ...CARTPOLE, environment: { entry: 'gymnasium.envs.registration:make', kwargs: { id: 'CartPole-v1' } } },
} as const satisfies Readonly<Record<string, Workload>>;
const WHAT = ['data', 'code'] as const;
type What = (typeof WHAT)[number];

/** Who asks for the evaluations, one after the other. */
const SIDES = { one: ['ann'], two: ['ann', 'bob'] } as const;

/** Seconds of an evaluation, round after round. */
type Seconds = Readonly<Record<keyof typeof SIDES, readonly number[]>>;

export const twoPrincipals: Benchmark = {
  name: 'two-principals',
  summary: 'two principals who take turns on one pool, beside one alone: what it costs that their code never meets in a sandbox',
  measurements: (quick) => casesOf(quick).map(nameOf),
  async run(context) {
    const { rounds, evaluations } = context.quick ? SIZES.quick : SIZES.full;
    const count = availableParallelism();
    const rows: Cell[][] = [];
    for (const start of STARTS) {
      await using sandboxes = await RealSandboxes.warm(count, start);
      for (const each of casesOf(context.quick).filter((one) => one.start === start)) {
        const seconds = await context.measured(nameOf(each), () => inTurns(sandboxes, each, { rounds, evaluations }, context));
        const extra = seconds.two.map((two, round) => 1000 * (two - (seconds.one[round] ?? Number.NaN)));
        const shown = [seconds.one, seconds.two].map((side) => showSpread(spreadOf(side.map((s) => 1000 * s)), 0));
        rows.push([start, each.what, each.episodes, ...shown, showSpread(spreadOf(extra), 0)]);
      }
    }
    return {
      tables: [
        {
          title: `Milliseconds of an evaluation of CartPole, ${count} sandboxes`,
          columns: ['sandboxes', 'suite', 'episodes', 'one principal', 'two in turns', 'more'],
          rows,
        },
      ],
      checks: [],
      notes: [
        `${evaluations} evaluations in a row of the same checkpoint and suite, from the request to the summary, on one pool. Data: the registered environment, whose sandboxes all principals use. Code: the same environment, made by a function that the suite names: each evaluation of another principal than the one before has sandboxes made anew in place of the idle ones.`,
        'Both sides run in turns on the same pool, and whichever is first in one round is second in the next. Their mean returns are compared: a difference ends the benchmark.',
      ],
    };
  },
};

interface Case {
  readonly start: Start;
  readonly what: What;
  readonly episodes: number;
}

function casesOf(quick: boolean): readonly Case[] {
  const { episodes } = quick ? SIZES.quick : SIZES.full;
  return STARTS.flatMap((start) => WHAT.map((what) => ({ start, what, episodes })));
}

function nameOf({ start, what, episodes }: Case): string {
  return `${start}, ${what}, ${episodes} episodes`;
}

async function inTurns(
  sandboxes: RealSandboxes,
  { start, what, episodes }: Case,
  { rounds, evaluations }: { readonly rounds: number; readonly evaluations: number },
  { say }: BenchmarkContext,
): Promise<Seconds> {
  const request = await sandboxes.request(WORKLOADS[what], episodes);
  const means = new Set<number | null>();
  const seconds: Record<keyof typeof SIDES, number[]> = { one: [], two: [] };
  const sides = ['one', 'two'] as const;
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      say(`${start}, ${what}, ${episodes} episodes, round ${round + 1}: ${side}`);
      const principals = SIDES[side];
      // Whatever was there before is replaced outside of the measurement.
      await sandboxes.evaluate(request, {}, principals.at(-1));
      await sandboxes.untilWarm();
      const began = performance.now();
      for (let i = 0; i < evaluations; i += 1) {
        const { official } = await sandboxes.evaluate(request, {}, principals[i % principals.length]);
        means.add(official.mean);
      }
      seconds[side].push((performance.now() - began) / 1000 / evaluations);
    }
  }
  if (means.size !== 1) throw new Error(`the mean returns are ${[...means].join(' and ')}: the two sides did not play the same`);
  return seconds;
}
