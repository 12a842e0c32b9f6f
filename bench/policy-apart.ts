import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PlayDeclaration } from '../src/orchestrator/suite/play.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark, BenchmarkContext, Cell, Check, Table } from './benchmark.ts';
import { PYTHON } from './machine.ts';
import { musterRates } from './played-together.ts';
import { CARTPOLE, RealSandboxes, type Way } from './real-sandboxes.ts';
import { showSpread, spreadOf } from './spread.ts';

const UNITS = { full: [64, 256], quick: [64] };
const ROUNDS = 3;

interface Form {
  readonly play: PlayDeclaration;
  readonly episodes: number;
  readonly quickEpisodes: number;
  /** What playing apart is to reach of playing together; where nothing is written, whatever comes of it. */
  readonly least?: number;
}

const FORMS: readonly Form[] = [
  { play: { mode: 'single' }, episodes: 500, quickEpisodes: 100, least: 0.4 },
  { play: { mode: 'lockstep', width: 64, block: 256 }, episodes: 1_536, quickEpisodes: 512, least: 0.85 },
  { play: { mode: 'vector', width: 256 }, episodes: 10_240, quickEpisodes: 2_048 },
];

/** Steps a second, round after round: of the clock, and of a processor that the sandboxes used. */
interface Rates {
  readonly clock: Readonly<Record<Way, readonly number[]>>;
  readonly processor: Readonly<Record<Way, readonly number[]>>;
}

export const policyApart: Benchmark = {
  name: 'policy-apart',
  summary: 'CartPole with the policy in a sandbox of its own, beside the same with the policy in the environment’s process',
  measurements: (quick) => unitsOf(quick).flatMap((units) => FORMS.map((form) => nameOf(units, form))),
  async run(context) {
    const count = availableParallelism();
    await using together = await RealSandboxes.warm(count, undefined, 'together');
    await using apart = await RealSandboxes.warm(count, undefined, 'apart');
    const tables: Table[] = [];
    const checks: Check[] = [];
    for (const units of unitsOf(context.quick)) {
      const checkpoint = join(together.directory, `mlp-${units}.safetensors`);
      await promisify(execFile)(PYTHON, [join(PACKAGE_ROOT, 'bench/policies/balancing_mlp.py'), checkpoint, `${units}`]);
      const rows: Cell[][] = [];
      for (const form of FORMS) {
        const rates = await context.measured(nameOf(units, form), () => inTurns({ together, apart }, form, checkpoint, context));
        for (const by of ['clock', 'processor'] as const) {
          const { together: one, apart: other } = rates[by];
          const ratio = spreadOf(other.map((rate, round) => rate / (one[round] ?? Number.NaN)));
          rows.push([
            `${form.play.mode}, by the ${by}`,
            ...[one, other].map((each) => showSpread(spreadOf(each), 0)),
            showSpread(ratio, 2),
          ]);
          if (form.least === undefined) continue;
          const what = `CartPole, MLP ${units}–${units}, ${form.play.mode}, by the ${by}: apart`;
          const target = `≥ ${form.least} × together`;
          checks.push({ what, target, measured: showSpread(ratio, 2), met: ratio.median >= form.least });
        }
      }
      const title = `CartPole, MLP ${units}–${units} (steps a second of the clock, and steps a second of a processor)`;
      tables.push({ title, columns: ['', 'together', 'apart', 'apart ÷ together'], rows });
    }
    return {
      tables,
      checks,
      notes: [
        `One warm sandbox for each of ${count} processors, which has two programs where the policy is apart: the same processors do all the work. Time reaches from the request, loading the policy included, to the last outcome. Both ways have the same seeds, and their mean returns are compared: a difference ends the benchmark.`,
        'By the clock two programs of a sandbox get more of a machine on which other work waits than one does, which flatters apart. Processor time is what both programs used, in the kernel too: where all processors are busy, that is what a step costs.',
        'One after the other in each round, and whichever is first in one is second in the next. Lockstep has 64 rows and blocks of 256 episodes, the vector form 256 rows.',
      ],
    };
  },
};

function unitsOf(quick: boolean): readonly number[] {
  return quick ? UNITS.quick : UNITS.full;
}

function nameOf(units: number, { play }: Form): string {
  return `MLP ${units}–${units}, ${play.mode}`;
}

async function inTurns(
  sandboxes: Readonly<Record<Way, RealSandboxes>>,
  { play, episodes, quickEpisodes }: Form,
  checkpoint: string,
  { quick, say }: BenchmarkContext,
): Promise<Rates> {
  const rates: { readonly [By in keyof Rates]: Record<Way, number[]> } = {
    clock: { together: [], apart: [] },
    processor: { together: [], apart: [] },
  };
  const means = new Set<number | null>();
  const ways = ['together', 'apart'] as const;
  for (let round = 0; round < (quick ? 1 : ROUNDS); round += 1) {
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
      say(`${play.mode}, round ${round + 1}: ${way}`);
      const before = await sandboxes[way].processorSeconds();
      const played = await musterRates(sandboxes[way], { ...CARTPOLE, play, checkpoint }, quick ? quickEpisodes : episodes);
      rates.clock[way].push(played.stepsPerSecond);
      rates.processor[way].push(played.steps / ((await sandboxes[way].processorSeconds()) - before));
      means.add(played.mean);
    }
  }
  if (means.size !== 1) throw new Error(`the mean returns are ${[...means].join(' and ')}: the two ways did not play the same`);
  return rates;
}
