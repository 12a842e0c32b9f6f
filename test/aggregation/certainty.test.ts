import { expect, test } from 'vitest';
import { certainty } from '../../src/aggregation/certainty.ts';
import { worstCase } from '../../src/aggregation/worst-case.ts';

test('the price of certainty is what was played beyond the episodes that a known variance would have needed', () => {
  // (1.959964 · 0.5 / 0.1)² = 96.04
  expect(certainty(150, 0.5, 0.1, 0.95)).toEqual({ knownVarianceEpisodes: 97, extraEpisodes: 53 });
});

test('it is negative when the evaluation ended before', () => {
  expect(certainty(50, 0.5, 0.1, 0.95)).toEqual({ knownVarianceEpisodes: 97, extraEpisodes: -47 });
});

test('a mean takes two episodes, however little they differ', () => {
  expect(certainty(30, 0, 0.1, 0.95)).toEqual({ knownVarianceEpisodes: 2, extraEpisodes: 28 });
});

test('the unit of the return does not matter', () => {
  expect(certainty(150, 500, 100, 0.95)).toEqual(certainty(150, 0.5, 0.1, 0.95));
});

test('what cannot be counted is left open', () => {
  expect(certainty(30, Infinity, 0.1, 0.95)).toBeUndefined();
  expect(certainty(30, 1e300, 0.1, 0.95)).toBeUndefined();
});

const bounds = { low: 0, high: 10 };

test('the worst case puts every unresolved episode on a bound', () => {
  expect(worstCase(6, 8, 2, bounds)).toEqual({ low: expect.closeTo(4.8, 12), high: expect.closeTo(6.8, 12) });
  expect(worstCase(undefined, 0, 3, bounds)).toEqual(bounds);
});

test('with every episode resolved it is the mean', () => {
  expect(worstCase(0.1 + 0.2, 3, 0, bounds)).toEqual({ low: 0.1 + 0.2, high: 0.1 + 0.2 });
  expect(worstCase(5, 3, 0, undefined)).toEqual({ low: 5, high: 5 });
});

test('without bounds an unresolved episode could have returned anything', () => {
  expect(worstCase(5, 3, 1, undefined)).toBeUndefined();
  expect(worstCase(undefined, 0, 0, bounds)).toBeUndefined();
});
