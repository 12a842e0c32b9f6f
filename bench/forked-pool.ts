import type { Benchmark, BenchmarkContext, Cell, Check, Table } from './benchmark.ts';
import { allAtOnce, playBare } from './bare-loop.ts';
import { killOwner, type Killed } from './killed-owner.ts';
import { isNothing, type Leftovers, leftoversOf, showLeftovers } from './leftovers.ts';
import { availableBytes, type SandboxMemory, sandboxMemory } from './memory-of.ts';
import { descendants, untilGone } from './process-tree.ts';
import { CARTPOLE, RealSandboxes, type Start } from './real-sandboxes.ts';
import { showSpread, type Spread, spreadOf } from './spread.ts';

const SANDBOXES = 500;
const EPISODES_EACH = 5;
const MB = 1e6;
/** Of one plain sandbox, after it has played; and what is left alone for everything else on the machine. */
const PLAIN_BYTES = 25 * MB;
const SPARED_BYTES = 4e9;

interface Figures {
  readonly start: Start;
  readonly count: number;
  /** From nothing, the provider's own start included. */
  readonly warmSeconds: number;
  readonly firstSeconds: number;
  readonly idle: Memory;
  readonly played: Memory;
  readonly closeSeconds: number;
  readonly left: Leftovers;
}

interface Memory extends SandboxMemory {
  /** By how much less memory is available than before there were any. */
  readonly missingBytes: number;
}

const FORKED = 'forked sandboxes';
const PLAIN = 'plain sandboxes';
const CLOSED = 'forked sandboxes whose provider is closed';
const KILLED = 'forked sandboxes of a Muster that is killed';

export const forkedPool: Benchmark = {
  name: 'forked-pool',
  summary: 'hundreds of sandboxes forked from a zygote beside as many that import for themselves: time until ready, memory, end',
  measurements: () => [FORKED, PLAIN, CLOSED, KILLED],
  async run({ quick, measured }: BenchmarkContext) {
    const count = quick ? 10 : SANDBOXES;
    const plainCount = quick ? 4 : Math.max(4, Math.min(count, Math.floor((availableBytes() - SPARED_BYTES) / PLAIN_BYTES)));
    // What Muster compiles and reads once belongs to neither.
    await (await RealSandboxes.warm(1, 'plain'))[Symbol.asyncDispose]();
    const forked = await measured(FORKED, () => figuresOf('forked', count));
    const plain = await measured(PLAIN, () => figuresOf('plain', plainCount));
    const closed = await measured(CLOSED, async () => [await closedProvider(count), await closedProvider(count)]);
    const killed = await measured(KILLED, () => killOwner(count));
    const times = spreadOf([forked, ...closed].map(({ warmSeconds }) => warmSeconds));
    const provider = spreadOf(closed.map(({ closeSeconds }) => closeSeconds)).median;
    return {
      tables: [timeTable(forked, plain, times), memoryTable([forked, plain]), endTable(forked, plain, provider, killed)],
      checks: checksOf({ forked, plain, times, provider, killed }),
      notes: [
        'Until ready, median and range of three times for forked ones, two of them after the plain ones: from the opening of the provider to the last runner that says it is ready, the start of the zygote included. Where there are fewer plain sandboxes, their time and memory count in proportion.',
        `Memory of its own: PSS of all processes, in 10^6 bytes; what processes share is divided among them, and the zygote counts once. Each has played ${EPISODES_EACH} episodes of CartPole in the second row. "Missing" is what the whole machine has less available, kernel and Muster included.`,
        'Gone: none of their processes is in the process table.',
      ],
    };
  },
};

async function figuresOf(start: Start, count: number): Promise<Figures> {
  const before = availableBytes();
  const memory = (): Memory => ({ ...sandboxMemory(start), missingBytes: before - availableBytes() });
  const began = performance.now();
  const since = (): number => (performance.now() - began) / 1000;
  await using sandboxes = await RealSandboxes.open(count, start);
  await sandboxes.untilWarm(1);
  const firstSeconds = since();
  await sandboxes.untilWarm();
  const warmSeconds = since();
  const idle = memory();
  const request = await sandboxes.request(CARTPOLE, EPISODES_EACH * count);
  const { episodes } = await playBare(sandboxes, request, EPISODES_EACH * count, allAtOnce);
  if (episodes !== EPISODES_EACH * count) throw new Error(`${episodes} episodes of ${EPISODES_EACH * count} were played`);
  const played = memory();
  const processes = descendants(process.pid);
  const closing = performance.now();
  const [gone] = await Promise.all([untilGone(processes), sandboxes.close()]);
  const left = await leftoversOf(sandboxes.directory, sandboxes.owner);
  return { start, count, warmSeconds, firstSeconds, idle, played, closeSeconds: (gone - closing) / 1000, left };
}

/** Until all are ready; and until nothing of them runs when the provider alone is closed, as it is when its pool never was. */
async function closedProvider(count: number): Promise<Pick<Figures, 'warmSeconds' | 'closeSeconds'>> {
  const began = performance.now();
  await using sandboxes = await RealSandboxes.warm(count, 'forked');
  const warmSeconds = (performance.now() - began) / 1000;
  const processes = descendants(process.pid);
  const closing = performance.now();
  const [gone] = await Promise.all([untilGone(processes), sandboxes.closeProvider()]);
  return { warmSeconds, closeSeconds: (gone - closing) / 1000 };
}

function timeTable(forked: Figures, plain: Figures, times: Spread): Table {
  const row = ({ start, count, firstSeconds }: Figures, seconds: string, median: number): readonly Cell[] => [
    start,
    count,
    seconds,
    firstSeconds,
    (1000 * median) / count,
  ];
  return {
    title: 'Time until all are ready, Gymnasium and NumPy imported',
    columns: ['', 'sandboxes', 'seconds', 'of which until the first', 'ms a sandbox'],
    rows: [row(forked, showSpread(times, 2), times.median), row(plain, plain.warmSeconds.toFixed(2), plain.warmSeconds)],
  };
}

function memoryTable(all: readonly Figures[]): Table {
  const row = (when: string, { start, count }: Figures, memory: Memory): readonly Cell[] => {
    const { sandboxes, zygote, missingBytes } = memory;
    const each = [sandboxes.pssBytes / MB / count, ownBytes(memory, count) / MB, missingBytes / MB / count];
    return [start, when, count, sandboxes.processes, sandboxes.pssBytes / MB, zygote.pssBytes / MB, ...each];
  };
  return {
    title: 'Memory (MB)',
    columns: [
      '',
      '',
      'sandboxes',
      'processes',
      'all of them',
      'the zygote',
      'a sandbox',
      'with its share of the zygote',
      'missing a sandbox',
    ],
    rows: all.flatMap((figures) => [row('ready', figures, figures.idle), row('after they have played', figures, figures.played)]),
  };
}

function endTable(forked: Figures, plain: Figures, provider: number, killed: Killed): Table {
  const rows = [forked, plain].map(({ start, count, closeSeconds, left }) => [
    `${start}, Muster closed`,
    count,
    closeSeconds,
    showLeftovers(left),
  ]);
  const afterSweep = `${showLeftovers(killed.left)} (after a sweep of ${killed.sweepSeconds.toFixed(2)} s)`;
  rows.push(['forked, provider closed', forked.count, provider, '']);
  return {
    title: 'The end of all of them',
    columns: ['', 'sandboxes', 'seconds until they are gone', 'left'],
    rows: [...rows, ['forked, Muster killed', forked.count, killed.seconds, afterSweep]],
  };
}

function ownBytes({ sandboxes, zygote }: SandboxMemory, count: number): number {
  return (sandboxes.pssBytes + zygote.pssBytes) / count;
}

interface Measured {
  readonly forked: Figures;
  readonly plain: Figures;
  /** Of the forked ones, until all are ready. */
  readonly times: Spread;
  readonly provider: number;
  readonly killed: Killed;
}

function checksOf({ forked, plain, times, provider, killed }: Measured): readonly Check[] {
  const { count } = forked;
  const what = `${count} forked sandboxes`;
  const ratio = plain.warmSeconds / plain.count / (times.median / count);
  const atMost = (which: string, target: number, measured: number, unit: string): Check => ({
    what: `${what}, ${which}`,
    target: `≤ ${target} ${unit}`,
    measured: `${measured.toFixed(2)} ${unit}`,
    met: measured <= target,
  });
  return [
    { what: `${what} ready`, target: '≥ 15 × faster than plain ones', measured: `${ratio.toFixed(1)} ×`, met: ratio >= 15 },
    atMost('time until ready', 3, times.median, 's'),
    atMost('memory of its own each, ready', 3, ownBytes(forked.idle, count) / MB, 'MB'),
    atMost('memory of its own each, after CartPole', 5, ownBytes(forked.played, count) / MB, 'MB'),
    atMost('gone after the provider is closed', 1, provider, 's'),
    atMost('gone after Muster is closed, sandbox by sandbox', 1, forked.closeSeconds, 's'),
    atMost('gone after Muster is killed', 1, killed.seconds, 's'),
    ...[forked.left, killed.left].map((left, i) => ({
      what: `${what}, left after Muster is ${['closed', 'killed, and swept after'][i]}`,
      target: 'nothing',
      measured: showLeftovers(left),
      met: isNothing(left),
    })),
  ];
}
