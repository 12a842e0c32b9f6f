import type { Benchmark, Cell, Check } from './benchmark.ts';
import { oneByOne, playBare } from './bare-loop.ts';
import { NOOP, RealSandboxes } from './real-sandboxes.ts';
import { sideBySide } from './side-by-side.ts';
import { showSpread } from './spread.ts';

const SIZES = [
  { sandboxes: 1, episodes: 20_000 },
  { sandboxes: 16, episodes: 50_000 },
  { sandboxes: 64, episodes: 50_000 },
  { sandboxes: 500, episodes: 100_000 },
];

interface Size {
  readonly sandboxes: number;
  readonly episodes: number;
}

function sizes(quick: boolean): readonly Size[] {
  return quick ? SIZES.slice(0, 2).map(({ sandboxes }) => ({ sandboxes, episodes: 5_000 })) : SIZES;
}

function nameOf({ sandboxes }: Size): string {
  return `${sandboxes} sandboxes`;
}

export const noopEpisodes: Benchmark = {
  name: 'noop',
  summary: 'episodes in which nothing happens: Muster beside a bare loop of one request and one answer an episode',
  measurements: (quick) => sizes(quick).map(nameOf),
  async run({ quick, measured }) {
    const rows: Cell[][] = [];
    const checks: Check[] = [];
    for (const size of sizes(quick)) {
      const { sandboxes: count, episodes: played } = size;
      const result = await measured(nameOf(size), async () => {
        await using sandboxes = await RealSandboxes.warm(count);
        const request = await sandboxes.request(NOOP, played);
        return await sideBySide(sandboxes, request, quick ? 2 : 4, () => playBare(sandboxes, request, played, oneByOne));
      });
      const ratio = showSpread(result.ratio, 2);
      rows.push([count, played, showSpread(result.bare, 0), showSpread(result.muster, 0), ratio, showSpread(result.loading, 1)]);
      if (count === 500)
        checks.push({
          what: 'no-op episodes, 500 sandboxes',
          target: '≥ 1.0 × the bare loop',
          measured: ratio,
          met: result.ratio.median >= 1,
        });
    }
    return {
      tables: [
        {
          title: 'Episodes a second: median and range of alternating runs',
          columns: ['sandboxes', 'episodes', 'bare loop', 'Muster', 'ratio', 'loading (s)'],
          rows,
        },
      ],
      checks,
      notes: ['The sandboxes are warm. Loading the policy belongs to both sides; the last column says how long it takes on all of them.'],
    };
  },
};
