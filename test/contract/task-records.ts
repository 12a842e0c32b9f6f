import { describe, expect, it } from 'vitest';
import {
  UndefinedTaskError,
  type Baseline,
  type JudgedTask,
  type TaskDefinition,
  type TaskRecords,
} from '../../src/agents/arena/task-records.ts';
import type { Soundness, Trial } from '../../src/agents/grading/soundness.ts';
import { parseTaskDigest, parseTaskId } from '../../src/agents/tasks/task-ids.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { ManualClock } from '../support/manual-clock.ts';

/** An empty place of its own, that can be opened again. */
export interface TaskRecordsSubject extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly open: () => Promise<AsyncDisposable & { readonly tasks: TaskRecords }>;
}

const ID = parseTaskId('org/task');
const BASELINE: Baseline = { reward: 1, cpuSeconds: 0.1 + 0.2, steps: 3, seed: 'seed ü' };

function define(version: string, verifier = 'judge'): TaskDefinition {
  const digest = parseTaskDigest(digestBytes(version));
  return { digest, id: ID, description: `version ${version}, ü`, keywords: ['a', 'b'], verifier: digestBytes(verifier) };
}

function judge({ digest, verifier }: TaskDefinition): JudgedTask {
  return { task: digest, verifier };
}

function report({ digest }: TaskDefinition, reward: number): Soundness {
  const trial: Trial = {
    name: 'oracle',
    role: 'oracle',
    expected: 1,
    rewards: [reward],
    finding: reward === 1 ? 'as-expected' : 'wrong',
    detail: '',
  };
  return { task: ID, digest, isSound: reward === 1, trials: [trial], notices: [] };
}

type Case = (subject: TaskRecordsSubject) => Promise<void>;

const cases: Readonly<Record<string, Case>> = {
  async 'a task is found as it was defined, with what is known of it, also when the store is opened again'({ open, clock }) {
    const [old, task] = [define('1'), define('2')];
    const at = clock.date();
    await (async () => {
      await using store = await open();
      await store.tasks.define(old);
      await clock.advance(1000);
      await store.tasks.define(task);
      expect(await store.tasks.keepBaseline(judge(task), BASELINE)).toEqual(BASELINE);
      await store.tasks.keepSoundness(judge(task), report(task, 0));
    })();
    await using store = await open();
    // Defining again changes nothing, nor does another baseline; a report takes the place of the one before.
    await clock.advance(1000);
    await store.tasks.define({ ...old, description: 'other' });
    expect(await store.tasks.find(old.digest)).toEqual({ ...old, definedAt: at });
    expect(await store.tasks.keepBaseline(judge(task), { ...BASELINE, steps: 9 })).toEqual(BASELINE);
    expect(await store.tasks.findBaseline(judge(task))).toEqual(BASELINE);
    expect(await store.tasks.findSoundness(judge(task))).toEqual(report(task, 0));
    await store.tasks.keepSoundness(judge(task), report(task, 1));
    expect(await store.tasks.findSoundness(judge(task))).toEqual(report(task, 1));
    expect(await store.tasks.findBaseline(judge(old))).toBeUndefined();
    expect(await store.tasks.find(define('3').digest)).toBeUndefined();
  },

  async 'a baseline and a report belong to a task and its verifier, which have to be defined'({ open, clock }) {
    await using store = await open();
    const [task, later] = [define('1'), define('1', 'stricter judge')];
    await expect(store.tasks.keepBaseline(judge(task), BASELINE)).rejects.toThrow(UndefinedTaskError);
    await store.tasks.define(task);
    await store.tasks.keepBaseline(judge(task), BASELINE);
    await expect(store.tasks.keepBaseline(judge(later), BASELINE)).rejects.toThrow(UndefinedTaskError);
    await expect(store.tasks.keepSoundness(judge(later), report(later, 1))).rejects.toThrow(UndefinedTaskError);
    await clock.advance(1000);
    await store.tasks.define(later);
    expect(await store.tasks.find(task.digest)).toMatchObject({ verifier: later.verifier });
    expect(await store.tasks.findBaseline(judge(later))).toBeUndefined();
    expect(await store.tasks.findBaseline(judge(task))).toEqual(BASELINE);
    await store.tasks.keepSoundness(judge(later), report(later, 1));
    expect(await store.tasks.findSoundness(judge(later))).toEqual(report(later, 1));
    expect(await store.tasks.findSoundness(judge(task))).toBeUndefined();
  },

  async 'of several baselines that are kept at once one stands, and all hear of that one'({ open }) {
    await using store = await open();
    const task = define('1');
    await Promise.all([store.tasks.define(task), store.tasks.define(task)]);
    const kept = await Promise.all([1, 2, 3, 4].map((steps) => store.tasks.keepBaseline(judge(task), { ...BASELINE, steps })));
    expect(new Set(kept.map(({ steps }) => steps)).size).toBe(1);
    expect(await store.tasks.findBaseline(judge(task))).toEqual(kept[0]);
  },
};

/** Runs every case on a fresh subject. */
export function taskRecordsContract(name: string, makeSubject: () => Promise<TaskRecordsSubject>): void {
  describe(`${name} keeps the contract of task records`, () => {
    it.each(Object.entries(cases))('%s', async (_, run) => {
      await using subject = await makeSubject();
      await run(subject);
      expect(subject.clock.pending).toBe(0);
    });
  });
}
