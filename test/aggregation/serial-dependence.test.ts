import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PairedFold } from '../../src/aggregation/comparison/paired-fold.ts';
import { PrefixFold } from '../../src/aggregation/prefix-fold.ts';
import { SerialDependence } from '../../src/aggregation/folding/serial-dependence.ts';
import { createStoppingRule } from '../../src/aggregation/stopping/stopping.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';
import { seededRandom } from './seeded-random.ts';

const BOUNDS = { low: 0, high: 1 };
const FAILURES = { timeout: 0, crash: 0 };
const EPISODES = 400;
const WARNING = expect.stringContaining('Episodes depend on one another');

const completed = (value: number): Outcome => ({ kind: 'completed', return: value, length: 1, metrics: {} });

type Draw = (random: () => number, before: number) => number;
const fresh: Draw = (random) => random();
/** As an environment would that forgets its state in two resets of five only. */
const kept: Draw = (random, before) => (random() < 0.6 ? before : random());

/** Warnings of an evaluation whose tasks take turns; the returns of each lie in a part of the range of its own. */
function warningsOf(draw: Draw, tasks: number): readonly string[] {
  const random = seededRandom(1);
  const fold = new PrefixFold({
    bounds: BOUNDS,
    failureScores: FAILURES,
    tasks: Array.from({ length: tasks }, (_, task) => ({ name: `task ${task}`, weight: 1 })),
    metrics: [],
    rule: createStoppingRule({ rule: 'fixed', episodes: EPISODES, confidence: 0.95 }, BOUNDS),
    windowSize: 1,
  });
  const before = Array.from({ length: tasks }, () => random());
  for (let index = 0; index < EPISODES; index += 1) {
    const task = index % tasks;
    before[task] = draw(random, before[task] ?? 0);
    fold.offer(index, task, completed((task + before[task]) / tasks));
  }
  return fold.computeOfficial().warnings;
}

test('an evaluation warns when each return depends on the one before, also when tasks alternate', () => {
  for (const tasks of [1, 3]) expect(warningsOf(kept, tasks)).toContainEqual(WARNING);
});

test('independent returns give no warning, however much alternating tasks differ', () => {
  for (const tasks of [1, 3, 100]) expect(warningsOf(fresh, tasks)).not.toContainEqual(WARNING);
});

test('a comparison warns when each difference depends on the one before', () => {
  const warnings = (draw: Draw): readonly string[] => {
    const random = seededRandom(2);
    const fold = new PairedFold({
      bounds: BOUNDS,
      failureScores: FAILURES,
      tasks: 1,
      candidates: ['candidate'],
      confidence: 0.95,
      margin: 0,
      budgetEpisodes: 2 * EPISODES,
      windowSize: 1,
      seed: 0,
    });
    let before = random();
    for (let index = 0; index < EPISODES && fold.ended === undefined; index += 1) {
      before = draw(random, before);
      fold.offer(0, index, 0, completed(0.5));
      fold.offer(1, index, 0, completed(before));
    }
    return fold.computeOfficial().candidates[0]?.warnings ?? [];
  };
  expect(warnings(kept)).toContainEqual(WARNING);
  expect(warnings(fresh)).not.toContainEqual(WARNING);
});

test('the correlation equals its definition, however far the returns are from 0', () => {
  const values = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 2, maxLength: 40 });
  fc.assert(
    fc.property(fc.array(values, { minLength: 1, maxLength: 4 }), fc.constantFrom(0, 1e6), (tasks, offset) => {
      const dependence = new SerialDependence();
      let [excess, squares] = [0, 0];
      for (const [task, returns] of tasks.entries()) {
        const mean = returns.reduce((sum, value) => sum + value, 0) / returns.length;
        const deviations = returns.map((value) => value - mean);
        const own = deviations.reduce((sum, deviation) => sum + deviation ** 2, 0);
        excess += deviations.slice(1).reduce((sum, deviation, i) => sum + deviation * (deviations[i] ?? 0), 0) + own / returns.length;
        squares += own;
        for (const value of returns) dependence.add(task, value + offset);
      }
      fc.pre(squares > 1e-3);
      expect(dependence.correlation).toBeCloseTo(Math.min(excess / squares, 1), 6);
    }),
  );
});

test('returns that are all the same have no correlation, and two rare failures in a row are chance', () => {
  const same = new SerialDependence();
  const rare = new SerialDependence();
  for (let episode = 0; episode < EPISODES; episode += 1) {
    same.add(0, 0.3);
    rare.add(0, episode === 200 || episode === 201 ? 0 : 1);
  }
  expect([same.correlation, same.isBeyondChance]).toEqual([undefined, false]);
  expect([rare.correlation, rare.isBeyondChance]).toEqual([expect.closeTo(0.5, 2), false]);
});
