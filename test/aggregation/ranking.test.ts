import { describe, expect, it } from 'vitest';
import { rankContenders, type Contender } from '../../src/aggregation/ranking.ts';

const contender = (mean: number, halfWidth: number): Contender => ({
  mean,
  interval: { low: mean - halfWidth, high: mean + halfWidth, confidence: 0.95 },
});

describe('a ranking', () => {
  it('orders by the mean', () => {
    const { places } = rankContenders([contender(1, 0.1), contender(3, 0.1), contender(2, 0.1)]);
    expect(places).toEqual([
      { contender: 1, best: 1, worst: 1 },
      { contender: 2, best: 2, worst: 2 },
      { contender: 0, best: 3, worst: 3 },
    ]);
  });

  it('leaves the ranks open that overlapping intervals do not settle', () => {
    const { places } = rankContenders([contender(3, 0.6), contender(2.5, 0.6), contender(1, 0.1)]);
    expect(places.map(({ best, worst }) => [best, worst])).toEqual([
      [1, 2],
      [1, 2],
      [3, 3],
    ]);
  });

  it('puts those without a mean last, with every rank open', () => {
    const none: Contender = { mean: null, interval: null };
    const { places } = rankContenders([none, contender(-5, 1), none]);
    expect(places.map(({ contender: position }) => position)).toEqual([1, 0, 2]);
    expect(places[1]).toEqual({ contender: 0, best: 1, worst: 3 });
  });

  it('is as sure as all of its intervals together', () => {
    expect(rankContenders([contender(1, 1), contender(2, 1), contender(3, 1)]).confidence).toBeCloseTo(0.85, 12);
    expect(rankContenders(Array.from({ length: 30 }, () => contender(0, 1))).confidence).toBe(0);
  });
});
