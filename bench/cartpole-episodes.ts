import { availableParallelism } from 'node:os';
import type { Benchmark, BenchmarkContext, Cell, Check } from './benchmark.ts';
import { allAtOnce, playBare } from './bare-loop.ts';
import { CARTPOLE, LATE_CHECKPOINT, RealSandboxes } from './real-sandboxes.ts';
import { sideBySide } from './side-by-side.ts';
import { showSpread } from './spread.ts';
import { vectorEnvironments, type VectorKind } from './vector-environments.ts';

const SIZES = [2, 16, 64];

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
  const settings: readonly {
    readonly kind: VectorKind;
    readonly environments: number;
    readonly processes: number;
    readonly what: string;
  }[] = [
    ...[2, 16, 64].map((environments) => ({
      kind: 'async' as const,
      environments,
      processes: 1,
      what: `AsyncVectorEnv, ${environments} environments`,
    })),
    { kind: 'sync', environments: 64, processes: cores, what: `SyncVectorEnv, 64 environments, one for each of ${cores} processors` },
  ];
  const rows: Cell[][] = [];
  for (const { what, ...setting } of quick ? settings.slice(1, 2) : settings) {
    say(what);
    const rates = await vectorEnvironments({ ...setting, seconds: quick ? 1 : 5, checkpoint: LATE_CHECKPOINT });
    rows.push([what, Math.round(rates.episodesPerSecond), Math.round(rates.stepsPerSecond)]);
  }
  return { title: "Gymnasium's vector environments", columns: ['', 'episodes a second', 'steps a second'], rows };
}
