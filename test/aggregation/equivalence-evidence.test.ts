import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { EquivalenceEvidence } from '../../src/aggregation/comparison/equivalence-evidence.ts';
import { seededRandom } from './seeded-random.ts';

const NEEDED = Math.log(40);

/** Folds values until they are shown to be within the margin. @returns how many; Infinity if so many are not enough. */
function pairsNeeded(margin: number, draw: () => number, most: number, needed = NEEDED): number {
  const evidence = new EquivalenceEvidence(margin, needed);
  for (let pair = 1; pair <= most; pair += 1) {
    const value = draw();
    evidence.fold(value, value);
    if (evidence.isWithinMargin) return pair;
  }
  return Infinity;
}

/** −1, 0 or 1, with these shares of 1 and −1. */
function discordant(random: () => number, wins: number, losses: number): () => number {
  return () => {
    const draw = random();
    return draw < wins ? 1 : draw < wins + losses ? -1 : 0;
  };
}

test.each([{ unresolved: 0 }, { unresolved: 2 }])(
  'golden values by hand: the same policy twice, with a margin of 0.09, after $unresolved unresolved pairs',
  ({ unresolved }) => {
    const evidence = new EquivalenceEvidence(0.09, NEEDED);
    const steps = Math.ceil(40 / 0.06);
    const mean = 1 - Math.ceil(0.91 * steps) / steps;
    // At its worst, the other way by all of the range; no bet depends on it.
    for (let pair = 0; pair < unresolved; pair += 1) evidence.fold(-1, 1);
    let log = unresolved * Math.log1p(0.06 * (mean - 1));
    for (let pair = 1; log < NEEDED; pair += 1) {
      expect([evidence.isWithinMargin, evidence.low, evidence.high]).toEqual([false, -1, 1]);
      // λ = ⅔δ/σ̂² with σ̂² = 1/pair, and at most ½/(1 − m) against a mean of m.
      log += Math.log1p(Math.min(0.06 * pair, 0.5 / (1 - mean)) * mean);
      evidence.fold(0, 0);
    }
    expect(evidence.isWithinMargin).toBe(true);
    expect(evidence.low).toBeCloseTo(-mean, 12);
    expect(evidence.high).toBeCloseTo(mean, 12);
  },
);

test('its interval excludes the margin, and reaches a sixtieth of it', () => {
  fc.assert(
    fc.property(fc.oneof(fc.constantFrom(1e-3, 0.025, 0.05, 0.1, 0.4), fc.double({ min: 1e-3, max: 0.99, noNaN: true })), (margin) => {
      const evidence = new EquivalenceEvidence(margin, 0);
      evidence.fold(0, 0);
      for (const end of [-evidence.low, evidence.high]) {
        expect(end).toBeLessThan(margin);
        expect(end).toBeGreaterThanOrEqual((1 - 1 / 60) * margin - 1e-9);
      }
    }),
  );
});

test('an unresolved difference only delays it', () => {
  const difference = fc.double({ min: -0.3, max: 0.3, noNaN: true });
  fc.assert(
    fc.property(fc.array(difference, { minLength: 20, maxLength: 80 }), fc.nat(19), (values, position) => {
      const [unresolved, known] = [new EquivalenceEvidence(0.4, 1), new EquivalenceEvidence(0.4, 1)];
      for (const [index, value] of values.entries()) {
        if (index === position) unresolved.fold(-1, 1);
        unresolved.fold(value, value);
        known.fold(value, value);
        expect(unresolved.low).toBeLessThanOrEqual(known.low);
        expect(unresolved.high).toBeGreaterThanOrEqual(known.high);
      }
    }),
  );
});

test('a mean on the margin is accepted at most at the stated rate, one beyond it hardly ever', () => {
  const random = seededRandom(5);
  const runs = 1000;
  const found = (wins: number, losses: number): number =>
    Array.from({ length: runs }, () => pairsNeeded(0.1, discordant(random, wins, losses), 600, Math.log(10))).filter(Number.isFinite)
      .length;
  // At most one in ten, and three standard errors of that.
  const most = 0.1 * runs + 3 * Math.sqrt(0.1 * 0.9 * runs);
  expect(found(0.15, 0.05)).toBeLessThanOrEqual(most);
  expect(found(0.05, 0.15)).toBeLessThanOrEqual(most);
  expect(found(0.2, 0.05)).toBeLessThanOrEqual(0.02 * runs);
});

test('the number of needed pairs is estimated roughly; on the margin there is no estimate', () => {
  const random = seededRandom(6);
  const expected = new EquivalenceEvidence(0.1, NEEDED).estimateRemaining(0, 0.2);
  const needed = Array.from({ length: 101 }, () => pairsNeeded(0.1, discordant(random, 0.1, 0.1), 5000)).sort((a, b) => a - b);
  const [median = Number.NaN] = needed.slice(50);
  expect(expected).toBeGreaterThan(median / 2);
  expect(expected).toBeLessThan(median * 2);
  expect(new EquivalenceEvidence(0.1, NEEDED).estimateRemaining(0.1, 0.2)).toBe(Infinity);
});
