import { once } from 'node:events';
import { resolveBeside } from '../../src/kernel/package-root.ts';
import { Thread } from '../../src/kernel/thread.ts';
import { NOTHING, together } from './measurement.ts';
import type { Measurement } from './measurement.ts';
import { titleOf } from './scenario.ts';
import type { Scenario } from './scenario.ts';

/** How often a scenario is to be tried: once or more. */
export interface Task {
  readonly scenario: Scenario;
  readonly runs: number;
}

/** Trials of one scenario that a thread works off in one go. */
export interface Batch {
  /** Of the scenario; threads share no functions. */
  readonly title: string;
  readonly first: number;
  readonly runs: number;
}

export interface Row {
  readonly scenario: Scenario;
  readonly measurement: Measurement;
}

export interface StudyOptions {
  readonly tasks: readonly Task[];
  readonly threads: number;
  /** Called once for each scenario, as soon as its trials are all made. */
  readonly onRow: (row: Row) => void;
}

/** For each scenario: enough that no thread is left alone with a long one at the end. */
const BATCHES = 20;

/**
 * Tries all scenarios, on several threads. A trial's number is its seed and all sums are of whole numbers, so the figures are the same however
 * many threads there are.
 *
 * @throws what a trial throws.
 */
export async function study({ tasks, threads, onRow }: StudyOptions): Promise<readonly Row[]> {
  const measured = new Map<string, Measurement>();
  const wanted = new Map(tasks.map((task) => [titleOf(task.scenario), task]));
  const batches = tasks.flatMap(batchesOf);
  const workers = Array.from({ length: threads }, () => new Thread(resolveBeside(import.meta.url, 'worker')));
  const add = (title: string, part: Measurement): void => {
    const measurement = together(measured.get(title) ?? NOTHING, part);
    measured.set(title, measurement);
    const task = wanted.get(title);
    if (task?.runs === measurement.runs) onRow({ scenario: task.scenario, measurement });
  };
  try {
    await Promise.all(workers.map((worker) => workOff(batches, worker, add)));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return tasks.map(({ scenario }) => ({ scenario, measurement: measured.get(titleOf(scenario)) ?? NOTHING }));
}

/** Takes batches from the queue until it is empty. */
async function workOff(batches: Batch[], worker: Thread, add: (title: string, part: Measurement) => void): Promise<void> {
  for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(batch);
    const [part]: readonly Measurement[] = await once(worker, 'message');
    add(batch.title, part ?? NOTHING);
  }
}

function batchesOf({ scenario, runs }: Task): Batch[] {
  const size = Math.ceil(runs / BATCHES);
  const title = titleOf(scenario);
  return Array.from({ length: Math.ceil(runs / size) }, (_, place) => {
    const first = place * size;
    return { title, first, runs: Math.min(size, runs - first) };
  });
}
