import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { UnresolvedEpisodes } from '../../src/aggregation/results/unresolved-episodes.ts';
import type { Score } from '../../src/aggregation/stopping/stopping-rule.ts';

const bounds = { low: 0, high: 10 };

function unresolved(...scores: readonly Score[]): UnresolvedEpisodes {
  const episodes = new UnresolvedEpisodes();
  for (const score of scores) episodes.add(score);
  return episodes;
}

test('the worst case puts every unresolved episode on a bound', () => {
  const two = unresolved(bounds, bounds);
  expect(two.count).toBe(2);
  expect(two.computeWorstCase({ count: 8, mean: 6 }, bounds)).toEqual({ low: expect.closeTo(4.8, 12), high: expect.closeTo(6.8, 12) });
  expect(two.computeWorstCase({ count: 0, mean: undefined }, bounds)).toEqual(bounds);
});

test('with every episode resolved the worst case is the mean', () => {
  expect(unresolved().computeWorstCase({ count: 3, mean: 0.1 + 0.2 }, bounds)).toEqual({ low: 0.1 + 0.2, high: 0.1 + 0.2 });
  expect(unresolved().computeWorstCase({ count: 3, mean: 5 }, undefined)).toEqual({ low: 5, high: 5 });
});

test('without bounds an unresolved episode could have returned anything', () => {
  const lost = { low: -Infinity, high: Infinity };
  expect(unresolved(lost).computeWorstCase({ count: 3, mean: 5 }, undefined)).toBeUndefined();
  expect(unresolved(lost, lost).computeWorstCase({ count: 3, mean: 5 }, undefined)).toBeUndefined();
});

test('without episodes there is no figure', () => {
  expect(unresolved().computeWorstCase({ count: 0, mean: undefined }, bounds)).toBeUndefined();
});

test('each unresolved episode counts at its lowest and highest score, and the mean stays within the bounds', () => {
  const found = unresolved({ low: -4, high: 8 }, { low: 2, high: 20 }).computeWorstCase({ count: 2, mean: 5 }, bounds);
  expect(found).toEqual({ low: expect.closeTo((10 - 4 + 2) / 4, 12), high: expect.closeTo((10 + 8 + 20) / 4, 12) });
  expect(unresolved({ low: -50, high: 90 }).computeWorstCase({ count: 1, mean: 5 }, bounds)).toEqual(bounds);
});

test('the worst case is the mean of all scores, with the unresolved ones at their ends', () => {
  const score = fc.tuple(fc.double({ min: 0, max: 10, noNaN: true }), fc.double({ min: 0, max: 10, noNaN: true }));
  fc.assert(
    fc.property(fc.array(score, { minLength: 1, maxLength: 9 }), fc.integer({ min: 1, max: 9 }), (ends, count) => {
      const scores = ends.map(([one, other]) => ({ low: Math.min(one, other), high: Math.max(one, other) }));
      const { low, high } = unresolved(...scores).computeWorstCase({ count, mean: 4 }, bounds) ?? bounds;
      const mean = (of: keyof Score & ('low' | 'high')): number =>
        (4 * count + scores.reduce((sum, each) => sum + each[of], 0)) / (count + scores.length);
      expect(low).toBeCloseTo(mean('low'), 9);
      expect(high).toBeCloseTo(mean('high'), 9);
    }),
  );
});
