import { expect, test } from 'vitest';
import { computeCertainty } from '../../src/aggregation/results/certainty.ts';

test('the price of certainty is the number of episodes beyond what a known variance would have needed', () => {
  // (1.959964 · 0.5 / 0.1)² = 96.04
  expect(computeCertainty(150, 0.5, 0.1, 0.95)).toEqual({ knownVarianceEpisodes: 97, extraEpisodes: 53 });
});

test('it is negative when the evaluation ended before', () => {
  expect(computeCertainty(50, 0.5, 0.1, 0.95)).toEqual({ knownVarianceEpisodes: 97, extraEpisodes: -47 });
});

test('a mean takes two episodes, however little they differ', () => {
  expect(computeCertainty(30, 0, 0.1, 0.95)).toEqual({ knownVarianceEpisodes: 2, extraEpisodes: 28 });
});

test('the unit of the return does not matter', () => {
  expect(computeCertainty(150, 500, 100, 0.95)).toEqual(computeCertainty(150, 0.5, 0.1, 0.95));
});

test('a price that cannot be computed is left open', () => {
  expect(computeCertainty(30, Infinity, 0.1, 0.95)).toBeUndefined();
  expect(computeCertainty(30, 1e300, 0.1, 0.95)).toBeUndefined();
});
