import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PlayDeclaration } from '../src/orchestrator/play.ts';
import { PROJECT_DIRECTORY } from '../src/providers.ts';
import type { Benchmark, Cell } from './benchmark.ts';
import { PYTHON } from './machine.ts';
import { musterRates } from './played-together.ts';
import { RealSandboxes, type Workload } from './real-sandboxes.ts';
import { showSpread, spreadOf } from './spread.ts';

const WIDTHS = [8, 32, 128];
const ROUNDS = 4;
const EPISODES = 1_024;
const run = promisify(execFile);

export const imageEpisodes: Benchmark = {
  name: 'images',
  summary: 'a small environment that shows images, with a convolutional policy in ONNX: in lockstep beside one by one',
  async run({ quick, say }) {
    await using sandboxes = await RealSandboxes.warm(availableParallelism());
    const checkpoint = join(sandboxes.directory, 'convolution.onnx');
    await run(PYTHON, [join(PROJECT_DIRECTORY, 'bench/policies/convolution.py'), checkpoint]);
    const images: Workload = { environment: 'image:make', files: 'bench/environments', bounds: [0, 4], checkpoint };
    const plays: PlayDeclaration[] = [
      { mode: 'single' },
      ...WIDTHS.map((width): PlayDeclaration => ({ mode: 'lockstep', width, block: 2 * width })),
    ];
    const rates = plays.map(() => new Array<number>());
    for (let round = 0; round < (quick ? 1 : ROUNDS); round += 1) {
      for (const [position, play] of plays.entries()) {
        say(`round ${round + 1}: ${nameOf(play)}`);
        const { episodesPerSecond } = await musterRates(sandboxes, { ...images, play }, quick ? 256 : EPISODES);
        rates[position]?.push(episodesPerSecond);
      }
    }
    const rows = plays.map((play, position): Cell[] => {
      const each = rates[position] ?? [];
      const ratios = each.map((rate, round) => rate / (rates[0]?.[round] ?? Number.NaN));
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

function nameOf(play: PlayDeclaration): string {
  return play.mode === 'single' ? play.mode : `${play.mode} ${play.width}`;
}
