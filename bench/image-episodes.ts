import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PlayDeclaration } from '../src/orchestrator/suite/play.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark, Cell } from './benchmark.ts';
import { PYTHON } from './machine.ts';
import { musterRates } from './played-together.ts';
import { RealSandboxes, type Workload } from './real-sandboxes.ts';
import { showSpread, spreadOf } from './spread.ts';

const WIDTHS = [8, 32, 128];
const PLAYS: readonly PlayDeclaration[] = [
  { mode: 'single' },
  ...WIDTHS.map((width): PlayDeclaration => ({ mode: 'lockstep', width, block: 2 * width })),
];
const ROUNDS = 4;
const EPISODES = 1_024;
/** One block of the widest. */
const QUICK_EPISODES = 256;
const run = promisify(execFile);

export const imageEpisodes: Benchmark = {
  name: 'images',
  summary: 'a small environment that shows images, with a convolutional policy in ONNX: in lockstep beside one by one',
  measurements: (quick) => roundsOf(quick).map(roundName),
  async run({ quick, say, measured }) {
    await using sandboxes = await RealSandboxes.warm(availableParallelism());
    const checkpoint = join(sandboxes.directory, 'convolution.onnx');
    await run(PYTHON, [join(PACKAGE_ROOT, 'bench/policies/convolution.py'), checkpoint]);
    const images: Workload = { environment: 'image:make', files: 'bench/environments', bounds: [0, 4], checkpoint };
    const rounds: (readonly number[])[] = [];
    for (const round of roundsOf(quick)) {
      const episodesPerSecond = await measured(roundName(round), async () => {
        const rates: number[] = [];
        for (const play of PLAYS) {
          say(nameOf(play));
          rates.push((await musterRates(sandboxes, { ...images, play }, quick ? QUICK_EPISODES : EPISODES)).episodesPerSecond);
        }
        return rates;
      });
      rounds.push(episodesPerSecond);
    }
    const rows = PLAYS.map((play, position): Cell[] => {
      const each = rounds.map((rates) => rates[position] ?? Number.NaN);
      const ratios = rounds.map((rates) => (rates[position] ?? Number.NaN) / (rates[0] ?? Number.NaN));
      return [nameOf(play), showSpread(spreadOf(each), 0), showSpread(spreadOf(ratios), 2)];
    });
    return {
      tables: [{ title: 'Images of 48 × 48 bytes', columns: ['', 'episodes a second', '× single'], rows }],
      checks: [],
      notes: [
        `Two convolutions and two dense layers with random weights, in ONNX Runtime with one thread, on one warm sandbox for each of ${availableParallelism()} processors. An episode has about 90 steps.`,
      ],
    };
  },
};

function roundsOf(quick: boolean): readonly number[] {
  return Array.from({ length: quick ? 1 : ROUNDS }, (_, round) => round);
}

function roundName(round: number): string {
  return `round ${round + 1}, one by one and in lockstep ${WIDTHS.join(', ')}`;
}

function nameOf(play: PlayDeclaration): string {
  return play.mode === 'single' ? play.mode : `${play.mode} ${play.width}`;
}
