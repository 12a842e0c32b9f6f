import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { allocateScore } from '../../src/aggregation/allocation/allocation.ts';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import { chooseDesign, drawTask, designProportionally, type SamplingDesign } from '../../src/aggregation/allocation/sampling-design.ts';
import type { EstimatedTask } from '../../src/aggregation/allocation/task-estimates.ts';

const unit: Bounds = { low: 0, high: 1 };

function best(estimates: readonly EstimatedTask[], bounds: Bounds | undefined, halfWidth: number | undefined): SamplingDesign {
  return chooseDesign(estimates, proportional(estimates, bounds), bounds, halfWidth);
}

function proportional(estimates: readonly EstimatedTask[], bounds: Bounds | undefined): SamplingDesign {
  return designProportionally(
    estimates.map(({ weight }) => weight),
    bounds,
  );
}

const probabilitiesOf = ({ tasks }: SamplingDesign): number[] => tasks.map(({ probability }) => probability);
const largestFactor = ({ tasks }: SamplingDesign): number => Math.max(...tasks.map(({ factor }) => factor));

/** One task always succeeds, the other half of the time. */
const sureAndCoin: EstimatedTask[] = [
  { weight: 0.5, mean: 1, variance: 1e-4 },
  { weight: 0.5, mean: 0.5, variance: 0.25 },
];

test('where the variance alone decides, three quarters go by Neyman and a quarter by weight', () => {
  const design = best(
    [
      { weight: 0.5, mean: 0, variance: 1 },
      { weight: 0.5, mean: 4, variance: 9 },
    ],
    undefined,
    undefined,
  );
  expect(probabilitiesOf(design)).toEqual([0.25 * 0.5 + 0.75 * 0.25, 0.25 * 0.5 + 0.75 * 0.75]);
  expect(design.centre).toBe(2);
  expect(design.range).toBeUndefined();
});

test('tasks that are alike are drawn by weight and count as what they return', () => {
  const alike: EstimatedTask[] = [0.1, 0.2, 0.7].map((weight) => ({ weight, mean: 0.4, variance: 0.1 }));
  for (const halfWidth of [undefined, 0.01, 0.1]) {
    const plain = proportional(alike, unit);
    expect(chooseDesign(alike, plain, unit, halfWidth)).toBe(plain);
  }
});

test('tasks that differ in their means alone are drawn by weight, with the difference taken out', () => {
  const design = best(
    [
      { weight: 0.5, mean: 0.2, variance: 0.01 },
      { weight: 0.5, mean: 0.8, variance: 0.01 },
    ],
    unit,
    0.01,
  );
  expect(probabilitiesOf(design)).toEqual([0.5, 0.5]);
  expect([0, 1].map((task) => allocateScore(design, task, { low: 0.5, high: 0.5 }).low)).toEqual([
    expect.closeTo(0.8, 12),
    expect.closeTo(0.2, 12),
  ]);
});

test('differences that are too small to matter stay in the scores', () => {
  const nearlyAlike: EstimatedTask[] = [
    { weight: 0.5, mean: 0.46, variance: 0.2484 },
    { weight: 0.5, mean: 0.54, variance: 0.2484 },
  ];
  expect(best(nearlyAlike, unit, 0.01)).toEqual(proportional(nearlyAlike, unit));
});

test('constant tasks without bounds are drawn by weight, with the difference taken out', () => {
  const design = best(
    [
      { weight: 0.25, mean: 2, variance: 0 },
      { weight: 0.75, mean: 6, variance: 0 },
    ],
    undefined,
    undefined,
  );
  expect(probabilitiesOf(design)).toEqual([0.25, 0.75]);
  expect(design.tasks.map(({ centre }) => centre)).toEqual([2, 6]);
});

test('the narrower the interval aimed at, the less the weights count; for a wide one tasks are drawn by weight', () => {
  const factors = [0.3, 0.1, 0.03, 0.01, 0.001].map((halfWidth) => largestFactor(best(sureAndCoin, unit, halfWidth)));
  expect(factors).toEqual(factors.toSorted((a, b) => a - b));
  expect(factors[0]).toBe(1);
  expect(factors.at(-1)).toBeGreaterThan(4);
});

const estimates = fc
  .array(
    fc.record({
      weight: fc.double({ min: 1e-4, max: 1, noNaN: true }),
      mean: fc.double({ min: 0, max: 1, noNaN: true }),
      variance: fc.oneof(fc.constant(1e-6), fc.double({ min: 1e-6, max: 0.25, noNaN: true })),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((tasks) => {
    const total = tasks.reduce((sum, { weight }) => sum + weight, 0);
    return tasks.map((task) => ({ ...task, weight: task.weight / total }));
  });
const halfWidths = fc.constantFrom(undefined, 0.2, 0.05, 0.01, 0.001);

test('probabilities sum to 1, and no return counts more than 8-fold, or 4-fold without a half-width to aim at', () => {
  fc.assert(
    fc.property(estimates, halfWidths, fc.boolean(), (tasks, halfWidth, bounded) => {
      const design = best(tasks, bounded ? unit : undefined, halfWidth);
      expect(probabilitiesOf(design).reduce((sum, probability) => sum + probability, 0)).toBeCloseTo(1, 12);
      expect(largestFactor(design)).toBeLessThanOrEqual((bounded && halfWidth !== undefined ? 8 : 4) + 1e-9);
      for (const [k, { probability, factor }] of design.tasks.entries())
        expect(probability * factor).toBeCloseTo(tasks[k]?.weight ?? 0, 12);
    }),
  );
});

test('every allocated score is in the range, which contains the bounds', () => {
  fc.assert(
    fc.property(estimates, halfWidths, fc.double({ min: 0, max: 1, noNaN: true }), (tasks, halfWidth, value) => {
      const design = best(tasks, unit, halfWidth);
      const range = design.range ?? { low: Number.NaN, high: Number.NaN };
      expect(range.low).toBeLessThanOrEqual(0);
      expect(range.high).toBeGreaterThanOrEqual(1);
      for (const task of tasks.keys())
        for (const possible of [0, value, 1]) {
          const { low } = allocateScore(design, task, { low: possible, high: possible });
          expect(low).toBeGreaterThanOrEqual(range.low);
          expect(low).toBeLessThanOrEqual(range.high);
        }
    }),
  );
});

test('a draw picks the task whose interval contains it', () => {
  const design = designProportionally([0.25, 0.5, 0.25], undefined);
  expect([0, 0.2499, 0.25, 0.7499, 0.75, 1 - 2 ** -32].map((draw) => drawTask(design, draw))).toEqual([0, 0, 1, 1, 2, 2]);
});

test('draws on a fine grid pick every task as often as its probability says', () => {
  fc.assert(
    fc.property(estimates, (tasks) => {
      const design = best(tasks, unit, 0.01);
      const steps = 20_000;
      const counts = tasks.map(() => 0);
      for (let step = 0; step < steps; step += 1) {
        const task = drawTask(design, step / steps);
        counts[task] = (counts[task] ?? 0) + 1;
      }
      for (const [k, count] of counts.entries())
        expect(Math.abs(count / steps - (design.tasks[k]?.probability ?? 0))).toBeLessThanOrEqual(2 / steps);
    }),
    { numRuns: 20 },
  );
});
