import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Muster } from '../src/app/main.ts';
import type { Summary } from '../src/orchestrator/results/summary.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { OwnMuster } from './own-muster.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';
import { tablePolicy } from './table-policy.ts';

const MB = 1e6;
const SIZES = {
  full: { checkpoints: 8, sandboxes: 16, policies: [1e5, 2e8] },
  quick: { checkpoints: 3, sandboxes: 2, policies: [1e6] },
};
/** Episodes for each sandbox. */
const EPISODES = 6;
const ENVIRONMENT = { seconds: 0.05, long_seconds: 0.5, long_every: 32 };

/** How checkpoints follow one another. */
type Way = 'made ready meanwhile' | 'on the same sandboxes' | 'on sandboxes of their own';
const WAYS: readonly Way[] = ['made ready meanwhile', 'on the same sandboxes', 'on sandboxes of their own'];

function nameOf(bytes: number, way: Way): string {
  return `policies of ${bytes / MB} MB, ${way}`;
}

export const swap: Benchmark = {
  name: 'swap',
  summary: 'from the last episode of one checkpoint to the first of the next: made ready meanwhile, loaded afterwards, on new sandboxes',
  measurements: (quick) => (quick ? SIZES.quick : SIZES.full).policies.flatMap((bytes) => WAYS.map((way) => nameOf(bytes, way))),
  async run({ quick, say, measured }) {
    const { checkpoints, sandboxes, policies } = quick ? SIZES.quick : SIZES.full;
    const rows: Cell[][] = [];
    const checks: Check[] = [];
    for (const bytes of policies) {
      await using files = await OwnMuster.open({});
      say(`writing ${checkpoints} policies of ${bytes / MB} MB`);
      const paths = await Promise.all(
        Array.from({ length: checkpoints }, (_, i) => policy(join(files.directory, `step-${i}.onnx`), bytes + 4 * i)),
      );
      const spreads = new Map<Way, Spread>();
      for (const way of WAYS) {
        const gaps = await measured(nameOf(bytes, way), () => gapsBetween(way, paths, sandboxes));
        spreads.set(way, spreadOf(gaps));
        rows.push([bytes / MB, way, gaps.length, showSpread(spreadOf(gaps), 3)]);
      }
      checks.push(checkOf(bytes, spreads));
    }
    return {
      tables: [
        {
          title: `Seconds from the last episode of one checkpoint to the first of the next, ${sandboxes} sandboxes`,
          columns: ['policy (MB)', 'checkpoints in a row', 'swaps', 'seconds'],
          rows,
        },
      ],
      checks,
      notes: [
        `An evaluation has ${EPISODES} episodes for each sandbox, of ${ENVIRONMENT.seconds} s, one in ${ENVIRONMENT.long_every} of ${ENVIRONMENT.long_seconds} s. Times are the sandboxes' own, by one clock.`,
        'No file is read before its evaluation is asked for. Sandboxes of their own are those of a Muster that is opened for the checkpoint and closed after it.',
      ],
    };
  },
};

function checkOf(bytes: number, measured: ReadonlyMap<Way, Spread>): Check {
  const median = (way: Way): number => measured.get(way)?.median ?? Number.NaN;
  const ready = median('made ready meanwhile');
  const afterwards = median('on the same sandboxes');
  return {
    what: `a policy of ${bytes / MB} MB, made ready while the one before it is played`,
    target: '< loading it afterwards',
    measured: `${ready.toFixed(3)} s, ${afterwards.toFixed(3)} s`,
    met: ready < afterwards,
  };
}

async function gapsBetween(way: Way, paths: readonly string[], sandboxes: number): Promise<readonly number[]> {
  await using own = await OwnMuster.open({ 'pool.max': sandboxes });
  const outs = paths.map((_, i) => join(own.directory, `out-${i}`));
  switch (way) {
    case 'made ready meanwhile':
      await inAChain(own.muster, paths, outs, sandboxes);
      break;
    case 'on the same sandboxes':
      for (const [i, path] of paths.entries()) await evaluate(own.muster, path, outs[i], sandboxes);
      break;
    case 'on sandboxes of their own':
      for (const [i, path] of paths.entries()) {
        await using another = await OwnMuster.open({ 'pool.max': sandboxes });
        await evaluate(another.muster, path, outs[i], sandboxes);
      }
  }
  const times = await Promise.all(outs.map((out) => timesOf(join(out, 'episodes.ndjson'))));
  return times.slice(1).map(({ began }, i) => began - (times[i]?.ended ?? Number.NaN));
}

/** One ahead at a time, as a pipeline asks for them. */
async function inAChain(muster: Muster, paths: readonly string[], outs: readonly string[], sandboxes: number): Promise<void> {
  let before: Promise<Summary> | undefined;
  for (const [i, path] of paths.entries()) {
    const present = evaluate(muster, path, outs[i], sandboxes, before);
    await before;
    before = present;
  }
  await before;
}

async function evaluate(muster: Muster, checkpoint: string, out = '', sandboxes: number, after?: Promise<unknown>): Promise<Summary> {
  const suite = {
    name: 'bench',
    environment: { entry: 'stamped:make', kwargs: ENVIRONMENT },
    files: join(PACKAGE_ROOT, 'bench/environments'),
    reward: { bounds: [0, 1] },
    metrics: ['began', 'ended'],
    stop: { rule: 'fixed', episodes: EPISODES * sandboxes },
  };
  return await muster.evaluate({ suite, checkpoint }, { out, ...(after && { after }) });
}

const metricsSchema = z.object({ began: z.number(), ended: z.number() });
const lineSchema = z.object({ outcome: z.object({ kind: z.literal('completed'), metrics: metricsSchema }) });

/** When the first episode began and the last one ended, in seconds. @throws ZodError when one was not completed. */
async function timesOf(path: string): Promise<z.infer<typeof metricsSchema>> {
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  const times = lines.map((line) => lineSchema.parse(JSON.parse(line)).outcome.metrics);
  return { began: Math.min(...times.map(({ began }) => began)), ended: Math.max(...times.map(({ ended }) => ended)) };
}

async function policy(path: string, bytes: number): Promise<string> {
  await tablePolicy('make', path, `${bytes}`);
  return path;
}
