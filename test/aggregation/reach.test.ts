import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import { findHalfWidthProblem, computeLeastEpisodes } from '../../src/aggregation/stopping/reach.ts';
import type { Score, Stop } from '../../src/aggregation/stopping/stopping-rule.ts';
import { createStoppingRule } from '../../src/aggregation/stopping/stopping.ts';
import { seededRandom } from './seeded-random.ts';

const unit: Bounds = { low: 0, high: 1 };
const known = (value: number): Score => ({ low: value, high: value });

/** Episodes until the rule is satisfied; `most` when it is not by then. */
function episodesOf(stop: Stop, bounds: Bounds | undefined, most: number, scoreAt: (position: number) => Score): number {
  const rule = createStoppingRule(stop, bounds);
  for (let episodes = 1; episodes <= most; episodes += 1) {
    rule.fold(scoreAt(episodes - 1));
    if (rule.isSatisfied()) return episodes;
  }
  return most;
}

const confidences = fc.constantFrom(0.6, 0.8, 0.95, 0.999);
const values = fc.oneof(fc.constantFrom(0, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true }));

describe('the least number of episodes of "certified"', () => {
  const certified = (halfWidth: number, confidence = 0.95): Stop => ({ rule: 'certified', halfWidth, confidence });

  it.each([
    [0.4, 3, 4],
    [0.1, 18, 20],
    [0.05, 37, 42],
    [0.02, 96, 108],
    [0.01, 193, 217],
  ])('half-width %d of the range: %d, and %d are enough when all returns lie on a bound', (halfWidth, least, enough) => {
    expect(computeLeastEpisodes(certified(halfWidth), unit)).toBe(least);
    expect(episodesOf(certified(halfWidth), unit, 1000, () => known(0))).toBe(enough);
  });

  it('is not undercut by any return that is always the same, unresolved episodes between them or not', () => {
    const halfWidths = fc.double({ min: 0.02, max: 0.49, noNaN: true });
    fc.assert(
      fc.property(halfWidths, confidences, values, fc.array(fc.nat(30), { maxLength: 3 }), (halfWidth, confidence, value, lost) => {
        const least = computeLeastEpisodes(certified(halfWidth, confidence), unit);
        const scoreAt = (position: number): Score => (lost.includes(position) ? unit : known(value));
        expect(episodesOf(certified(halfWidth, confidence), unit, least, scoreAt)).toBe(least);
      }),
    );
  });

  it('is not undercut by returns that vary without a drift', () => {
    const random = seededRandom(12);
    const least = computeLeastEpisodes(certified(0.05), unit);
    for (let run = 0; run < 300; run += 1) {
      const [centre, spread] = [random(), 0.3 * random()];
      const returnAt = (): Score => known(Math.min(1, Math.max(0, centre + spread * (random() < 0.5 ? -1 : 1))));
      expect(episodesOf(certified(0.05), unit, least, returnAt)).toBe(least);
    }
  });

  it('is that of returns which do not drift: a drift lets means be dropped from both sides one after the other', () => {
    const drifting = (position: number): Score => known(position < 35 ? 0.35 : 0.05);
    expect(episodesOf(certified(0.01), unit, 193, drifting)).toBe(67);
  });

  it('depends on the half-width as a share of the range only', () => {
    expect(computeLeastEpisodes(certified(10), { low: -500, high: 500 })).toBe(computeLeastEpisodes(certified(0.01), unit));
  });
});

describe('the least number of episodes of "approximate"', () => {
  const approximate = (halfWidth: number, confidence = 0.95): Stop => ({ rule: 'approximate', halfWidth, confidence });

  it.each([
    [0.4, 64],
    [0.02, 100],
    [0.01, 197],
    [0.001, 2313],
  ])('half-width %d of the range: %d, and so many are enough for returns in the middle', (halfWidth, least) => {
    expect(computeLeastEpisodes(approximate(halfWidth), unit)).toBe(least);
    expect(episodesOf(approximate(halfWidth), unit, 10_000, () => known(0.5))).toBe(least);
  });

  it('is not undercut by any returns', () => {
    const streams = fc.array(fc.oneof(values.map(known), fc.constant<Score>(unit)), { minLength: 1, maxLength: 12 });
    const halfWidths = fc.double({ min: 0.004, max: 0.1, noNaN: true });
    fc.assert(
      fc.property(halfWidths, fc.oneof(confidences, fc.constant(1 - 2 ** -52)), streams, (halfWidth, confidence, repeated) => {
        const stop = approximate(halfWidth, confidence);
        const least = computeLeastEpisodes(stop, unit);
        expect(episodesOf(stop, unit, least, (position) => repeated[position % repeated.length] ?? unit)).toBe(least);
      }),
    );
  });
});

describe('the least number of episodes', () => {
  it('is 64 for "asymptotic", which some returns reach', () => {
    const stop: Stop = { rule: 'asymptotic', halfWidth: 0.1, confidence: 0.95, tightestAt: 500 };
    expect(computeLeastEpisodes(stop, undefined)).toBe(64);
    expect(episodesOf(stop, undefined, 1000, (position) => known(0.01 * (position % 2)))).toBe(64);
  });

  it('is the number asked for with "fixed"', () => {
    const stop: Stop = { rule: 'fixed', episodes: 7, confidence: 0.95 };
    expect(computeLeastEpisodes(stop, undefined)).toBe(7);
    expect(episodesOf(stop, undefined, 1000, () => known(1))).toBe(7);
  });

  it('is unknown without the bounds that a rule needs', () => {
    for (const rule of ['certified', 'approximate'] as const)
      expect(() => computeLeastEpisodes({ rule, halfWidth: 1, confidence: 0.95 }, undefined)).toThrow(RangeError);
  });
});

describe('a half-width', () => {
  it('is a problem if it is at least half of the range, or below a ten-thousandth of it', () => {
    const bounds = { low: -1, high: 9 };
    expect(findHalfWidthProblem(5, bounds)).toMatch(/expected less than 5: reward\.bounds alone, 10 apart, .*; got 5/);
    expect(findHalfWidthProblem(0.0009, bounds)).toMatch(/0.0009 is out of reach with reward\.bounds 10 apart; ask for 0.001 or more/);
    for (const fine of [0.001, 0.1, 4.99]) expect(findHalfWidthProblem(fine, bounds)).toBeUndefined();
  });
});
