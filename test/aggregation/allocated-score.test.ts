import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { allocateScore } from '../../src/aggregation/allocation/allocation.ts';
import { designProportionally, type SamplingDesign } from '../../src/aggregation/allocation/sampling-design.ts';
import type { Score } from '../../src/aggregation/stopping/stopping-rule.ts';

const known = (value: number): Score => ({ low: value, high: value });

/** A design that favours the second task of two that weigh the same, and expects 0.4 and 0.9 of them. */
const uneven: SamplingDesign = {
  tasks: [
    { probability: 0.2, factor: 2.5, centre: 0.4 },
    { probability: 0.8, factor: 0.625, centre: 0.9 },
  ],
  upTo: [0.2, 1],
  centre: 0.65,
  range: { low: -0.35, high: 2.15 },
};

test('a return of a rarely drawn task counts more', () => {
  expect(allocateScore(uneven, 0, known(0.5)).low).toBeCloseTo(0.65 + 2.5 * 0.1, 12);
  expect(allocateScore(uneven, 1, known(0.5)).low).toBeCloseTo(0.65 - 0.625 * 0.4, 12);
  expect(allocateScore(uneven, 1, known(0.9)).low).toBe(0.65);
});

test('a score keeps the return and its possible range', () => {
  expect(allocateScore(uneven, 0, { low: 0, high: 1 })).toEqual({
    low: expect.closeTo(-0.35, 12),
    high: expect.closeTo(2.15, 12),
    returned: { low: 0, high: 1 },
    range: { low: -0.35, high: 2.15 },
  });
});

const unit = fc.double({ min: 0, max: 1, noNaN: true });
const positive = fc.double({ min: 0.01, max: 1, noNaN: true });
const tasks = fc.array(fc.record({ weight: positive, probability: positive, centre: unit, mean: unit, spread: unit }), {
  minLength: 1,
  maxLength: 8,
});

test('whatever the probabilities and centres, its expectation is the mean of the suite', () => {
  fc.assert(
    fc.property(tasks, (drawn) => {
      const [weights, odds] = [
        drawn.reduce((sum, { weight }) => sum + weight, 0),
        drawn.reduce((sum, { probability }) => sum + probability, 0),
      ];
      const designed = drawn.map(({ weight, probability, centre }) => ({
        probability: probability / odds,
        factor: weight / weights / (probability / odds),
        centre,
      }));
      const centre = drawn.reduce((sum, task) => sum + (task.weight / weights) * task.centre, 0);
      const design: SamplingDesign = { tasks: designed, upTo: [], centre, range: undefined };
      // Each task returns its mean and a spread more or less, each half of the time.
      const expectation = drawn.reduce((sum, { mean, spread }, k) => {
        const above = allocateScore(design, k, known(mean + spread)).low;
        const below = allocateScore(design, k, known(mean - spread)).low;
        return sum + ((designed[k]?.probability ?? 0) * (above + below)) / 2;
      }, 0);
      const suiteMean = drawn.reduce((sum, { weight, mean }) => sum + (weight / weights) * mean, 0);
      expect(expectation).toBeCloseTo(suiteMean, 9);
    }),
  );
});

test('an unresolved episode has the range of every possible return', () => {
  fc.assert(
    fc.property(unit, fc.constantFrom(0, 1), (value, task) => {
      const unresolved = allocateScore(uneven, task, { low: 0, high: 1 });
      const resolved = allocateScore(uneven, task, known(value));
      expect(resolved.low).toBe(resolved.high);
      expect(unresolved.low).toBeLessThanOrEqual(resolved.low);
      expect(unresolved.high).toBeGreaterThanOrEqual(resolved.high);
    }),
  );
  const { low, high } = allocateScore({ ...uneven, range: undefined }, 0, { low: -Infinity, high: Infinity });
  expect([low, high]).toEqual([-Infinity, Infinity]);
});

test('a task that is drawn by its weight, with no expected return, counts as its return, to the bit', () => {
  const design = designProportionally([0.1, 0.7, 0.2], { low: -3, high: 7 });
  fc.assert(
    fc.property(fc.double({ min: -3, max: 7, noNaN: true }), fc.nat(2), (value, task) => {
      const score = allocateScore(design, task, known(value));
      expect([score.low, score.high, score.range]).toEqual([value + 0, value + 0, { low: -3, high: 7 }]);
    }),
  );
});

test('an unknown task is an error of the caller', () => {
  expect(() => allocateScore(uneven, 2, known(0))).toThrow(RangeError);
});
