import { availableParallelism } from 'node:os';
import type { Benchmark, BenchmarkContext, Cell, Check, Table } from './benchmark.ts';
import { allAtOnce, playBare } from './bare-loop.ts';
import { CARTPOLE, LATE_CHECKPOINT, RealSandboxes } from './real-sandboxes.ts';
import { sideBySide } from './side-by-side.ts';
import { showSpread } from './spread.ts';
import { vectorEnvironments, type VectorKind } from './vector-environments.ts';

const SIZES = [2, 16, 64];

export const cartpoleEpisodes: Benchmark = {
  name: 'cartpole',
  summary: "CartPole with a trained policy: Muster beside its bare runners, and beside gymnasium's vector environments",
  measurements: (quick) => [...sizes(quick).map(nameOf), ...peers(quick).map(({ what }) => what)],
  async run(context) {
    const { quick, measured } = context;
    const rows: Cell[][] = [];
    const checks: Check[] = [];
    for (const count of sizes(quick)) {
      const episodes = quick ? 300 : 2500;
      const result = await measured(nameOf(count), async () => {
        await using sandboxes = await RealSandboxes.warm(count);
        const request = await sandboxes.request(CARTPOLE, episodes);
        return await sideBySide(sandboxes, request, quick ? 1 : 4, () => playBare(sandboxes, request, episodes, allAtOnce));
      });
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
      tables: [{ title: 'Episodes a second: median and range of alternating runs', columns, rows }, await peerTable(context)],
      checks,
      notes: [
        'The bare runners are sent all of their episodes at once; loading the policy belongs to both sides.',
        'The vector environments share one process (SyncVectorEnv) or have one each (AsyncVectorEnv), without isolation; their policy is batched.',
      ],
    };
  },
};

function sizes(quick: boolean): readonly number[] {
  return quick ? SIZES.slice(0, 1) : SIZES;
}

function nameOf(count: number): string {
  return `${count} sandboxes`;
}

interface Peer {
  readonly kind: VectorKind;
  readonly environments: number;
  readonly processes: number;
  readonly what: string;
}

function peers(quick: boolean): readonly Peer[] {
  const cores = availableParallelism();
  const all: readonly Peer[] = [
    ...[2, 16, 64].map((environments) => ({
      kind: 'async' as const,
      environments,
      processes: 1,
      what: `AsyncVectorEnv, ${environments} environments`,
    })),
    { kind: 'sync', environments: 64, processes: cores, what: `SyncVectorEnv, 64 environments, one for each of ${cores} processors` },
  ];
  return quick ? all.slice(1, 2) : all;
}

async function peerTable({ quick, measured }: BenchmarkContext): Promise<Table> {
  const rows: Cell[][] = [];
  for (const { what, ...peer } of peers(quick)) {
    const rates = await measured(what, () => vectorEnvironments({ ...peer, seconds: quick ? 1 : 5, checkpoint: LATE_CHECKPOINT }));
    rows.push([what, Math.round(rates.episodesPerSecond), Math.round(rates.stepsPerSecond)]);
  }
  return { title: "Gymnasium's vector environments", columns: ['', 'episodes a second', 'steps a second'], rows };
}
