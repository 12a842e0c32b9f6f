import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Allocation } from '../../src/aggregation/allocation/allocation.ts';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import { ReorderBuffer } from '../../src/aggregation/folding/reorder-buffer.ts';
import type { Score } from '../../src/aggregation/stopping/stopping-rule.ts';
import { createSeedStreams } from '../../src/kernel/seeds.ts';
import { seededRandom } from './seeded-random.ts';

const unit: Bounds = { low: 0, high: 1 };
const known = (value: number): Score => ({ low: value, high: value });

/** What an index returns is decided by its task and the index. The first task always succeeds, others seldom do, some episodes are unresolved. */
function played(index: number, task: number): Score {
  const random = seededRandom(1000 * index + task);
  if (random() < 0.02) return unit;
  return known(task === 0 || random() < 1 / (task + 1) ? 1 : 0);
}

const allocationOf = (weights: readonly number[], halfWidth: number | undefined = 0.01): Allocation =>
  new Allocation({ weights, bounds: unit, halfWidth });

interface Course {
  readonly tasks: number[];
  readonly scores: Score[];
}

/** Episodes folded one by one, each asked for its task when it is due. */
function inTurn(allocation: Allocation, episodes: number): Course {
  const streams = createSeedStreams(1);
  const course: Course = { tasks: [], scores: [] };
  for (let index = 0; index < episodes; index += 1) {
    const task = allocation.pickTask(index, streams.drawTask(index));
    course.tasks.push(task);
    course.scores.push(allocation.fold(task, played(index, task)));
  }
  return course;
}

/** Episodes sent out as far ahead as `ahead` and what is decided allow, arriving in the order that `choose` makes of those that are out. */
function inParallel(allocation: Allocation, episodes: number, ahead: number, choose: () => number): Course {
  const streams = createSeedStreams(1);
  const course: Course = { tasks: [], scores: [] };
  const buffer = new ReorderBuffer<{ readonly index: number; readonly task: number }>(ahead);
  const out: { readonly index: number; readonly task: number }[] = [];
  let sent = 0;
  while (buffer.next < episodes) {
    for (; sent < Math.min(episodes, buffer.next + ahead, allocation.decidedUpTo); sent += 1) {
      const task = allocation.pickTask(sent, streams.drawTask(sent));
      course.tasks.push(task);
      out.push({ index: sent, task });
    }
    const [arrived] = out.splice(Math.floor(choose() * out.length), 1);
    if (arrived === undefined) throw new Error('nothing is out, yet episodes are missing');
    buffer.put(arrived.index, arrived);
    for (let due = buffer.take(); due !== undefined; due = buffer.take())
      course.scores.push(allocation.fold(due.task, played(due.index, due.task)));
  }
  return course;
}

test('the task of an index and its score depend neither on how far dispatch runs ahead nor on the order of arrival', () => {
  const weights = [3, 1, 1, 2];
  const expected = inTurn(allocationOf(weights), 900);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), fc.nat(2 ** 32 - 1), (ahead, seed) => {
      expect(inParallel(allocationOf(weights), 900, ahead, seededRandom(seed))).toEqual(expected);
    }),
    { numRuns: 20 },
  );
});

test('the tasks of a block are decided when the block before it begins', () => {
  const allocation = allocationOf([1, 1]);
  const decided: [number, number][] = [[0, allocation.decidedUpTo]];
  for (let folded = 1; folded <= 640; folded += 1) {
    allocation.fold(folded % 2, known(1));
    if (allocation.decidedUpTo !== decided.at(-1)?.[1]) decided.push([folded, allocation.decidedUpTo]);
  }
  expect(decided).toEqual([
    [0, 64],
    [32, 128],
    [64, 192],
    [128, 256],
    [192, 320],
    [256, 400],
    [320, 500],
    [400, 625],
    [500, 782],
    [625, 978],
  ]);
});

test('at least 33 episodes can always be in flight, and one can be sent before the fold has caught up', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), (tasks) => {
      const allocation = allocationOf(Array<number>(tasks).fill(1));
      for (let folded = 0; folded < 2000; folded += 1) {
        expect(allocation.decidedUpTo - folded).toBeGreaterThanOrEqual(33);
        allocation.fold(folded % tasks, known(0));
      }
    }),
    { numRuns: 10 },
  );
});

test('tasks are drawn by weight at first, and the noisy one more often later on', () => {
  const allocation = allocationOf([1, 1]);
  const { tasks, scores } = inTurn(allocation, 3000);
  const noisyShare = (from: number, to: number): number => tasks.slice(from, to).filter((task) => task === 1).length / (to - from);
  expect(Math.abs(noisyShare(0, 64) - 0.5)).toBeLessThan(0.2);
  expect(noisyShare(1000, 3000)).toBeGreaterThan(0.85);
  for (const score of scores.slice(0, 64)) expect([score.low, score.high]).toEqual([score.returned?.low, score.returned?.high]);
});

test('the mean of the scores estimates the mean of the suite, not that of the episodes', () => {
  const allocation = new Allocation({ weights: [1, 1], bounds: unit, halfWidth: 0.01 });
  const { scores } = inTurn(allocation, 4000);
  const returns = scores.flatMap(({ returned }) => (returned?.low === returned?.high ? [returned?.low ?? 0] : []));
  expect(allocation.mean).toBeCloseTo(0.75, 1);
  expect(returns.reduce((sum, value) => sum + value, 0) / returns.length).toBeLessThan(0.6);
  expect(allocation.scores.count).toBe(returns.length);
  expect(allocation.scores.count).toBeLessThan(4000);
});

test('the estimate stays within the bounds', () => {
  const allocation = allocationOf([1, 1]);
  expect(allocation.mean).toBeUndefined();
  for (let index = 0; index < 1000; index += 1) {
    allocation.fold(0, known(index === 0 ? 0 : 1));
    expect(allocation.mean).toBeLessThanOrEqual(1);
  }
});

test('a suite of one task counts every episode as its return', () => {
  const { tasks, scores } = inTurn(allocationOf([5]), 500);
  expect(new Set(tasks)).toEqual(new Set([0]));
  for (const { low, high, returned, range } of scores) expect({ low, high, range }).toEqual({ ...returned, range: unit });
});

test('with only unresolved episodes, tasks are still drawn by weight', () => {
  const allocation = allocationOf([1, 1]);
  for (let index = 0; index < 500; index += 1) expect(allocation.fold(index % 2, unit)).toMatchObject({ low: 0, high: 1, range: unit });
  expect(allocation.mean).toBeUndefined();
});

test('without bounds there is no range, and an unresolved episode could have counted for anything', () => {
  const allocation = new Allocation({ weights: [1, 1], bounds: undefined, halfWidth: undefined });
  for (let index = 0; index < 200; index += 1) allocation.fold(index % 2, known(index % 2 === 0 ? 100 : index % 7));
  const { low, high, range } = allocation.fold(0, { low: -Infinity, high: Infinity });
  expect([low, high, range]).toEqual([-Infinity, Infinity, undefined]);
  expect(allocation.fold(0, known(100)).low).not.toBe(100);
});

test('a suite of 10,000 tasks', () => {
  const tasks = 10_000;
  const allocation = allocationOf(Array<number>(tasks).fill(1));
  const streams = createSeedStreams(3);
  const random = seededRandom(8);
  for (let index = 0; index < 100_000; index += 1) {
    const task = allocation.pickTask(index, streams.drawTask(index));
    allocation.fold(task, known(random() < task / tasks ? 1 : 0));
  }
  expect(Math.abs((allocation.mean ?? 0) - 0.5)).toBeLessThan(0.005);
});

test('only decided indices that are not yet folded can be requested', () => {
  const allocation = allocationOf([1, 1]);
  expect(allocation.pickTask(63, 0.75)).toBe(1);
  expect(() => allocation.pickTask(64, 0.5)).toThrow(/only the tasks of indices 0 to 63/);
  for (let index = 0; index < 32; index += 1) allocation.fold(0, known(1));
  expect(allocation.pickTask(127, 0.25)).toBe(0);
  expect(() => allocation.pickTask(31, 0.5)).toThrow(RangeError);
  for (const [index, draw] of [
    [40.5, 0.5],
    [40, 1],
    [40, -0.1],
    [40, Number.NaN],
  ] as const)
    expect(() => allocation.pickTask(index, draw)).toThrow(RangeError);
  expect(() => allocation.fold(2, known(1))).toThrow(RangeError);
});

test('a weight that is not positive is refused', () => {
  for (const weights of [[], [1, 0], [1, -1], [1, Number.NaN], [1, Infinity]]) expect(() => allocationOf(weights)).toThrow(RangeError);
});

test('indices that are sent out together are decided together', () => {
  for (const playedTogether of [1, 7, 64, 1000]) {
    const allocation = new Allocation({ weights: [1, 2], bounds: unit, halfWidth: 0.01, playedTogether });
    for (let index = 0; index < 5000; index += 1) {
      expect(allocation.decidedUpTo % playedTogether).toBe(0);
      allocation.fold(index % 2, played(index, index % 2));
    }
  }
});
