import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { InMemorySandboxes } from './in-memory-sandboxes.ts';
import { descendantMemory, ownMemory, type OwnMemory } from './memory-of.ts';
import { CARTPOLE, RealSandboxes } from './real-sandboxes.ts';
import { scriptedRunners } from './scripted-runner.ts';

const MIB = 2 ** 20;
/** Of the event loop's delay, in milliseconds; each value holds the interval itself. */
const RESOLUTION_MS = 1;

const IN_MEMORY = 'in-memory sandboxes';
const BUBBLEWRAP = 'bubblewrap sandboxes';

export const warmPool: Benchmark = {
  name: 'pool',
  summary: 'time and memory of hundreds of warm sandboxes, memory of Muster for each, and its responsiveness while all of them play',
  measurements: () => [IN_MEMORY, BUBBLEWRAP],
  async run({ quick, say, measured }) {
    const count = quick ? 20 : 500;
    const inMemoryCount = quick ? 200 : 2_000;
    const inMemory = await measured(IN_MEMORY, () => inMemoryGrowth(inMemoryCount));
    const { seconds, real, idle, load, played } = await measured(BUBBLEWRAP, () => realPool(count, quick ? 100 : 6_000, say));
    const tables = [
      {
        title: 'Time until all are warm, Gymnasium imported',
        columns: ['sandboxes', 'seconds', 'a second'],
        rows: [[count, seconds, count / seconds]],
      },
      {
        title: 'Memory of the sandboxes (PSS: what processes share is divided among them)',
        columns: ['', 'program', 'processes', 'MiB', 'MiB a sandbox'],
        rows: [...idle, ...played],
      },
      {
        title: "Muster's own memory for each idle sandbox, after garbage collection (KB)",
        columns: ['', 'sandboxes', 'heap', 'external', 'heap + external', 'resident'],
        rows: [
          ['bubblewrap', count, ...growthCells(real)],
          ['in-memory, both ends of its pipes and the scripted runner included', inMemoryCount, ...growthCells(inMemory)],
        ],
      },
      {
        title: "Delay of Muster's event loop (ms) while all of them play CartPole",
        columns: ['sandboxes', 'median', 'p99', 'most', 'episodes a second'],
        rows: [[count, load.median, load.p99, load.most, load.episodesPerSecond]],
      },
    ];
    const checks: Check[] = [
      memoryCheck('bubblewrap', real),
      memoryCheck('in-memory', inMemory),
      { what: 'event-loop delay p99', target: '≤ 20 ms', measured: `${load.p99.toFixed(1)} ms`, met: load.p99 <= 20 },
    ];
    return { tables, checks, notes: [`Delays are sampled every ${RESOLUTION_MS} ms, which is part of each value.`] };
  },
};

async function realPool(count: number, episodes: number, say: (text: string) => void) {
  // A few sandboxes bring in what all of them share.
  await (await RealSandboxes.warm(4))[Symbol.asyncDispose]();
  const before = ownMemory();
  const start = performance.now();
  await using sandboxes = await RealSandboxes.open(count);
  await sandboxes.untilWarm();
  const seconds = (performance.now() - start) / 1000;
  const real = growth(before, ownMemory(), count);
  const idle = memoryRows(count, `idle, warm`);
  say(`all of them were warm after ${seconds.toFixed(1)} s, and play`);
  const load = await playing(sandboxes, episodes);
  return { seconds, real, idle, load, played: memoryRows(count, 'after they have played') };
}

async function inMemoryGrowth(count: number): Promise<OwnMemory> {
  const { program } = scriptedRunners(0.001);
  // What is compiled and set up once belongs to no sandbox.
  await (await InMemorySandboxes.warm(20, program))[Symbol.asyncDispose]();
  const before = ownMemory();
  await using _sandboxes = await InMemorySandboxes.warm(count, program);
  return growth(before, ownMemory(), count);
}

/** For each of `count` sandboxes. */
function growth(before: OwnMemory, after: OwnMemory, count: number): OwnMemory {
  return {
    heapBytes: (after.heapBytes - before.heapBytes) / count,
    externalBytes: (after.externalBytes - before.externalBytes) / count,
    rssBytes: (after.rssBytes - before.rssBytes) / count,
  };
}

function growthCells({ heapBytes, externalBytes, rssBytes }: OwnMemory): readonly number[] {
  return [heapBytes, externalBytes, heapBytes + externalBytes, rssBytes].map((bytes) => bytes / 1000);
}

/** The larger of what JavaScript holds and what the process grew by. */
function memoryCheck(what: string, { heapBytes, externalBytes, rssBytes }: OwnMemory): Check {
  const bytes = Math.max(heapBytes + externalBytes, rssBytes);
  return {
    what: `Muster's memory for an idle sandbox, ${what}`,
    target: '≤ 100 KB',
    measured: `${(bytes / 1000).toFixed(0)} KB`,
    met: bytes <= 100_000,
  };
}

function memoryRows(count: number, when: string): readonly Cell[][] {
  return [...descendantMemory()].map(([name, { processes, pssBytes }]) => [
    when,
    name,
    processes,
    Math.round(pssBytes / MIB),
    pssBytes / MIB / count,
  ]);
}

async function playing(sandboxes: RealSandboxes, episodes: number) {
  // Only an evaluation in which all sandboxes have loaded the policy has all of them busy: the first one is for that.
  await sandboxes.evaluate(await sandboxes.request(CARTPOLE, 2 * sandboxes.count));
  const request = await sandboxes.request(CARTPOLE, episodes);
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const { run } = await sandboxes.evaluate(request);
  delay.disable();
  const [median, p99, most] = [delay.percentile(50), delay.percentile(99), delay.max].map((nanoseconds) => nanoseconds / 1e6);
  return { median: median ?? 0, p99: p99 ?? 0, most: most ?? 0, episodesPerSecond: run.episodesPerSecond };
}
