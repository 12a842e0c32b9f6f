import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT_DIRECTORY } from '../src/pools.ts';
import type { Benchmark, BenchmarkContext, Cell, Check } from './benchmark.ts';
import { allAtOnce, playBare } from './bare-loop.ts';
import { PYTHON } from './machine.ts';
import { CARTPOLE, LATE_CHECKPOINT, RealSandboxes } from './real-sandboxes.ts';
import { sideBySide } from './side-by-side.ts';
import { showSpread } from './spread.ts';

const SIZES = [2, 16, 64];
const run = promisify(execFile);

export const cartpoleEpisodes: Benchmark = {
  name: 'cartpole',
  summary: "CartPole with a trained policy: Muster beside its bare runners, and beside gymnasium's vector environments",
  async run({ quick, say }) {
    const rows: Cell[][] = [];
    const checks: Check[] = [];
    for (const count of quick ? SIZES.slice(0, 1) : SIZES) {
      say(`${count} sandboxes`);
      await using sandboxes = await RealSandboxes.warm(count);
      const episodes = quick ? 300 : 2500;
      const request = await sandboxes.request(CARTPOLE, episodes);
      const result = await sideBySide(sandboxes, request, quick ? 1 : 4, () => playBare(sandboxes, request, episodes, allAtOnce));
      const ratio = showSpread(result.ratio, 3);
      const steps = result.muster.median * result.stepsPerEpisode;
      rows.push([count, episodes, showSpread(result.bare, 0), showSpread(result.muster, 0), Math.round(steps), ratio]);
      checks.push({
        what: `CartPole, ${count} sandboxes`,
        target: '≥ 0.95 × the bare runners',
        measured: ratio,
        met: result.ratio.median >= 0.95,
      });
    }
    const columns = ['sandboxes', 'episodes', 'bare runners', 'Muster', "Muster's steps a second", 'ratio'];
    return {
      tables: [{ title: 'Episodes a second: median and range of alternating runs', columns, rows }, await peers({ quick, say })],
      checks,
      notes: [
        'The bare runners are sent all of their episodes at once; loading the policy belongs to both sides.',
        'The vector environments share one process (SyncVectorEnv) or have one each (AsyncVectorEnv), without isolation; their policy is batched.',
      ],
    };
  },
};

async function peers({ quick, say }: BenchmarkContext) {
  const cores = availableParallelism();
  const settings = [
    ...[2, 16, 64].map((environments) => ({
      kind: 'async',
      environments,
      processes: 1,
      what: `AsyncVectorEnv, ${environments} environments`,
    })),
    { kind: 'sync', environments: 64, processes: cores, what: `SyncVectorEnv, 64 environments, one for each of ${cores} processors` },
  ];
  const rows: Cell[][] = [];
  for (const { kind, environments, processes, what } of quick ? settings.slice(1, 2) : settings) {
    say(what);
    const seconds = quick ? 1 : 5;
    const runs = await Promise.all(Array.from({ length: processes }, () => vectorEnvironment(kind, environments, seconds)));
    const sum = (of: keyof PeerRates): number => Math.round(runs.reduce((total, rates) => total + rates[of], 0));
    rows.push([what, sum('episodesPerSecond'), sum('stepsPerSecond')]);
  }
  return { title: "Gymnasium's vector environments", columns: ['', 'episodes a second', 'steps a second'], rows };
}

interface PeerRates {
  readonly stepsPerSecond: number;
  readonly episodesPerSecond: number;
}

async function vectorEnvironment(kind: string, environments: number, seconds: number): Promise<PeerRates> {
  const script = join(PROJECT_DIRECTORY, 'bench/peers/vector_env.py');
  const args = [script, '--kind', kind, '--environments', `${environments}`, '--seconds', `${seconds}`, LATE_CHECKPOINT];
  const { stdout } = await run(PYTHON, args, { timeout: 120_000 });
  const rates: PeerRates = JSON.parse(stdout);
  return rates;
}
