/**
 * How long the summary of a large evaluation keeps the event loop from everything else, by suite: worked out on the main thread, and with the
 * thread that servers have for it.
 *
 *   node bench/official-pause.ts [episodes]
 */
import { Allocation } from '../src/aggregation/allocation/allocation.ts';
import { PrefixFold } from '../src/aggregation/prefix-fold.ts';
import { createStoppingRule } from '../src/aggregation/stopping/stopping.ts';
import { FiguresThread } from '../src/app/threads/figures-thread.ts';
import { systemClock } from '../src/kernel/clock.ts';
import type { SuiteDefinition } from '../src/orchestrator/suite/suite-definition.ts';
import { createSeedStreams } from '../src/kernel/seeds.ts';

const episodes = Number(process.argv[2] ?? 1_000_000);
const BOUNDS = { low: 0, high: 500 };

interface Case {
  readonly name: string;
  readonly tasks: number;
  readonly stop: SuiteDefinition['stop'];
  readonly isAdaptive?: true;
  readonly isSparse?: true;
}

const certified = { rule: 'certified', halfWidth: 0.05, confidence: 0.95 } as const;
const fixed = { rule: 'fixed', episodes, confidence: 0.95 } as const;
const CASES: readonly Case[] = [
  { name: 'certified, 1 task', tasks: 1, stop: certified },
  { name: 'asymptotic, 1 task', tasks: 1, stop: { ...certified, rule: 'asymptotic', tightestAt: 1000 } },
  { name: 'fixed, 1 task', tasks: 1, stop: fixed },
  { name: 'fixed, 1 task, whole returns', tasks: 1, stop: fixed, isSparse: true },
  { name: 'fixed, 100 tasks', tasks: 100, stop: fixed },
  { name: 'fixed, 10000 tasks', tasks: 10_000, stop: fixed },
  { name: 'certified, 10 tasks, adaptive', tasks: 10, stop: certified, isAdaptive: true },
];

await using thread = new FiguresThread(systemClock);
for (const each of CASES) {
  const fold = folded(each);
  const before = process.threadCpuUsage();
  const here = JSON.stringify(fold.computeOfficial());
  const between = process.threadCpuUsage();
  const elsewhere = JSON.stringify(await fold.computeOfficialBy(thread.workOut));
  const after = process.threadCpuUsage();
  const isSame = here === elsewhere ? 'the same' : 'NOT the same';
  process.stdout.write(
    `${each.name}, ${fold.folded} episodes: ${milliseconds(before, between)} ms here, ${milliseconds(between, after)} ms with the thread; ${isSame}\n`,
  );
}

/** Of a processor, by this thread. */
function milliseconds(from: NodeJS.CpuUsage, to: NodeJS.CpuUsage): string {
  return ((to.user + to.system - from.user - from.system) / 1000).toFixed(0);
}

function folded({ tasks: count, stop, isAdaptive, isSparse }: Case): PrefixFold {
  const weight = 1 / count;
  const tasks = Array.from({ length: count }, (_, i) => ({ name: `t${i}`, weight }));
  const allocation = isAdaptive && new Allocation({ weights: tasks.map(() => weight), bounds: BOUNDS, halfWidth: 0.05 });
  const fold = new PrefixFold({
    bounds: BOUNDS,
    failureScores: { timeout: 0, crash: 0 },
    tasks,
    metrics: [],
    success: { threshold: 400, k: [1, 4] },
    rule: createStoppingRule(stop, BOUNDS),
    allocation,
    windowSize: 10,
  });
  const draws = createSeedStreams(1);
  for (let index = 0; index < episodes; index += 1) {
    const { environment, policy } = draws.seeds(index);
    const task = allocation ? allocation.pickTask(index, policy / 2 ** 32) : policy % count;
    const drawn = (environment / 2 ** 32) * 500;
    fold.offer(index, task, { kind: 'completed', return: isSparse ? Math.round(drawn) : drawn, length: 10, metrics: {} });
  }
  return fold;
}
