import { join } from 'node:path';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark, BenchmarkContext, Cell, Check } from './benchmark.ts';
import { OwnMuster } from './own-muster.ts';
import { CARTPOLE, LATE_CHECKPOINT, NOOP, type Start, type Workload } from './real-sandboxes.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';

/** At a time: creating and destroying overlap with playing. */
const SANDBOXES = [8, 32];
/** The one that the targets are held against. */
const CHECKED = 32;

interface Setting {
  readonly name: string;
  readonly workload: Workload;
}

const SETTINGS: readonly Setting[] = [
  { name: 'no-op', workload: NOOP },
  { name: 'CartPole', workload: CARTPOLE },
];

interface Line {
  readonly name: string;
  readonly workload: Workload;
  readonly count: number;
}

function lines(quick: boolean): readonly Line[] {
  const all = SANDBOXES.flatMap((count) => SETTINGS.map(({ name, workload }) => ({ name, workload, count })));
  return quick ? all.slice(0, 1) : all;
}

function lineName({ name, count }: Line): string {
  return `${name} on ${count} sandboxes at a time`;
}

export const freshSandboxes: Benchmark = {
  name: 'fresh-sandboxes',
  summary: 'a fresh sandbox for each episode (episodesPerSandbox: 1): forked beside plain, through the whole of Muster',
  measurements: (quick) => lines(quick).map(lineName),
  async run({ quick, measured }: BenchmarkContext) {
    const rows: Cell[][] = [];
    const checks: Check[] = [];
    for (const line of lines(quick)) {
      const { name, count, workload } = line;
      const result = await measured(lineName(line), async () => {
        await using forked = await open('forked', count);
        await using plain = await open('plain', count);
        return await sideBySide(forked, plain, workload, quick ? { forked: 40, plain: 4 } : { forked: 1_000, plain: 100 });
      });
      rows.push([name, count, ...[result.plain, result.forked, result.ratio].map((spread) => showSpread(spread, 1))]);
      if (name === 'no-op' && (quick || count === CHECKED)) checks.push(...checksOf(count, result));
    }
    const columns = ['', 'sandboxes at a time', 'plain', 'forked', 'ratio'];
    return {
      tables: [{ title: 'Episodes a second, each in a sandbox of its own: median and range of alternating runs', columns, rows }],
      checks,
      notes: [
        'From the call of evaluate() to its result: lease, creation, loading of the policy, the episode and the end of the sandbox are all in it. The zygote runs before.',
      ],
    };
  },
};

function open(start: Start, count: number): Promise<OwnMuster> {
  return OwnMuster.open({ 'pool.max': count, 'pool.episodesPerSandbox': 1, 'templates.local.start': start });
}

interface Rates {
  readonly forked: Spread;
  readonly plain: Spread;
  readonly ratio: Spread;
}

async function sideBySide(
  forked: OwnMuster,
  plain: OwnMuster,
  workload: Workload,
  episodes: Readonly<Record<Start, number>>,
): Promise<Rates> {
  const rates = { forked: new Array<number>(), plain: new Array<number>() };
  // The first opens pool and zygote.
  await rateOf(forked, workload, 4);
  await rateOf(plain, workload, 4);
  for (let round = 0; round < 3; round += 1) {
    rates.plain.push(await rateOf(plain, workload, episodes.plain));
    rates.forked.push(await rateOf(forked, workload, episodes.forked));
  }
  const ratios = rates.forked.map((rate, round) => rate / (rates.plain[round] ?? Number.NaN));
  return { forked: spreadOf(rates.forked), plain: spreadOf(rates.plain), ratio: spreadOf(ratios) };
}

async function rateOf({ muster }: OwnMuster, { environment, files, bounds }: Workload, episodes: number): Promise<number> {
  const suite = {
    name: 'bench',
    environment,
    ...(files === undefined ? {} : { files: join(PACKAGE_ROOT, files) }),
    reward: { bounds: [...bounds] },
    stop: { rule: 'fixed', episodes },
  };
  const start = performance.now();
  const { official, partial } = await muster.evaluate({ suite, checkpoint: LATE_CHECKPOINT });
  if (partial || official.episodes !== episodes) throw new Error(`${official.episodes} of ${episodes} episodes came to an end`);
  return (1000 * episodes) / (performance.now() - start);
}

function checksOf(count: number, { forked, ratio }: Rates): readonly Check[] {
  const what = `a fresh sandbox an episode, ${count} at a time`;
  return [
    { what, target: '≥ 150 episodes a second', measured: showSpread(forked, 0), met: forked.median >= 150 },
    { what, target: '≥ 10 × the plain way', measured: showSpread(ratio, 1), met: ratio.median >= 10 },
  ];
}
