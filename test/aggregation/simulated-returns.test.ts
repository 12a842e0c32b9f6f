import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeHistogram } from '../../src/aggregation/results/histogram.ts';
import {
  createHistogramReturns,
  matchReturns,
  resampleReturns,
  drawReturnsOfOneRun,
  createTwoValuedReturns,
  type SimulatedReturns,
} from '../../src/aggregation/forecast/simulated-returns.ts';
import { createSeededRandom } from '../../src/kernel/seeded-random.ts';

function drawn(returns: SimulatedReturns, count: number): number[] {
  const random = createSeededRandom('test of simulated returns', 1);
  return Array.from({ length: count }, () => returns.draw(random));
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function varianceOf(values: readonly number[]): number {
  const mean = meanOf(values);
  return meanOf(values.map((value) => (value - mean) ** 2));
}

describe('recorded scores of tasks', () => {
  const tasks = [
    { weight: 3, scores: [1, 2, 3] },
    { weight: 1, scores: [10] },
    { weight: 5, scores: [] },
  ];

  it('are drawn by the weights of the tasks that have any, whatever their number', () => {
    const returns = resampleReturns(tasks);
    expect(returns).toMatchObject({ mean: 0.75 * 2 + 0.25 * 10, observed: 4 });
    expect(returns.variance).toBeCloseTo(0.75 * (2 / 3 + 4) + 0.25 * 36, 12);
    const values = drawn(returns, 40_000);
    expect(values.filter((value) => value === 10).length / values.length).toBeCloseTo(0.25, 2);
    expect(meanOf(values)).toBeCloseTo(returns.mean, 1);
    expect(varianceOf(values)).toBeCloseTo(returns.variance, 0);
  });

  it('are needed: without any there is nothing to draw', () => {
    expect(() => resampleReturns([{ weight: 1, scores: [] }])).toThrow(RangeError);
  });
});

describe('the histogram of a summary', () => {
  it('restores values that have a bin each', () => {
    const successes = [0, 1, 1, 1].flatMap((value) => Array.from({ length: 25 }, () => value));
    const { edges, counts } = computeHistogram(successes.toSorted((a, b) => a - b)) ?? { edges: [], counts: [] };
    const returns = createHistogramReturns(edges, counts, { min: 0, max: 1 });
    expect(returns).toMatchObject({ mean: 0.75, variance: 0.1875, observed: 100 });
    expect(new Set(drawn(returns, 1000))).toEqual(new Set([0, 1]));
  });

  it('never leads beyond the lowest and highest value', () => {
    const returns = createHistogramReturns([-8, 8, 24], [1, 3], { min: 2, max: 11 });
    expect(new Set(drawn(returns, 100))).toEqual(new Set([2, 11]));
  });
});

describe('two values that match recorded moments', () => {
  it('are within the recorded extremes and have the recorded mean and variance', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1000, max: 1000, noNaN: true }), { minLength: 2, maxLength: 50 }), (values) => {
        const [min, max, mean, spread] = [Math.min(...values), Math.max(...values), meanOf(values), varianceOf(values)];
        const variance = (spread * values.length) / (values.length - 1);
        const returns = matchReturns({ count: values.length, mean, variance, min, max });
        expect(returns.mean).toBeCloseTo(mean, 6);
        expect(returns.variance).toBeCloseTo(spread, 3);
        for (const value of drawn(returns, 20)) {
          expect(value).toBeGreaterThanOrEqual(min - 1e-9);
          expect(value).toBeLessThanOrEqual(max + 1e-9);
        }
      }),
    );
  });

  it('pile up at the extreme that is near, as returns of good policies do', () => {
    const returns = matchReturns({ count: 100, mean: 490, variance: 900, min: 20, max: 500 });
    expect(Math.max(...drawn(returns, 100))).toBe(500);
  });
});

describe('one simulated evaluation', () => {
  it('has recorded returns resampled first, so that rare ones are missing from some and frequent in others', () => {
    const rare = resampleReturns([{ weight: 1, scores: [0, ...Array.from({ length: 19 }, () => 1)] }]);
    const means = Array.from({ length: 200 }, (_, run) => {
      const next = drawReturnsOfOneRun(rare, createSeededRandom('test of worlds', run));
      return meanOf(Array.from({ length: 500 }, next));
    });
    const without = means.filter((mean) => mean === 1).length / means.length;
    expect(Math.abs(without - 0.95 ** 20)).toBeLessThan(0.1);
    expect(Math.min(...means)).toBeLessThan(0.88);
  });

  it('draws assumed returns as they are', () => {
    const means = Array.from({ length: 50 }, (_, run) => {
      const next = drawReturnsOfOneRun(createTwoValuedReturns(0, 1, 0.95), createSeededRandom('test of worlds', run));
      return meanOf(Array.from({ length: 500 }, next));
    });
    expect(Math.max(...means)).toBeLessThan(0.99);
    expect(Math.min(...means)).toBeGreaterThan(0.9);
  });
});
