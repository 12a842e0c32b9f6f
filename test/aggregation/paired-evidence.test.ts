import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Evidence, GAMBLERS, PairedEvidence } from '../../src/aggregation/comparison/paired-evidence.ts';

const BETS = Array.from({ length: 9 }, (_, k) => ({ bet: 0.95 * 0.6 ** k, share: (k === 0 ? 1.625 : 1) / 9.625 }));

/** Straight from the definition: Σ wₖ·Π(1 + λₖ·(x − m)), as a logarithm. */
function byDefinition(values: readonly number[], mean: number): number {
  const bets = BETS.map(({ bet, share }) => ({ share, bet: Math.min(bet, 0.95 / (1 + mean)) }));
  const capitals = bets.map(({ bet, share }) => values.reduce((capital, value) => capital * (1 + bet * (value - mean)), share));
  return Math.log(capitals.reduce((sum, capital) => sum + capital, 0));
}

function evidenceOf(differences: readonly number[], margin = 0): PairedEvidence {
  const evidence = new PairedEvidence(margin);
  for (const difference of differences) evidence.fold(difference, difference);
  return evidence;
}

const difference = fc.oneof(fc.constantFrom(-1, 0, 1), fc.double({ min: -1, max: 1, noNaN: true }));
const differences = fc.array(difference, { maxLength: 60 });

test('golden values by hand: one win, a win and a loss, no difference', () => {
  expect(Math.exp(evidenceOf([1]).promote)).toBeCloseTo(1.3059548542337662, 12);
  expect(Math.exp(evidenceOf([1]).regress)).toBeCloseTo(0.6940451457662338, 12);
  expect(Math.exp(evidenceOf([1, -1]).promote)).toBeCloseTo(0.7949012431592359, 12);
  expect([evidenceOf([]).promote, evidenceOf([0, 0, 0]).promote, evidenceOf([0, 0, 0]).regress]).toEqual([0, 0, 0]);
});

test('golden course: 15 % wins and 5 % losses, spread evenly', () => {
  const evidence = new PairedEvidence(0);
  const course: Record<number, readonly number[]> = {};
  for (let pair = 1; pair <= 400; pair += 1) {
    const position = (0.6180339887498949 * pair) % 1;
    const value = position < 0.15 ? 1 : position > 0.95 ? -1 : 0;
    evidence.fold(value, value);
    if ([50, 100, 200, 400].includes(pair)) course[pair] = [evidence.promote / Math.LN10, evidence.regress / Math.LN10];
  }
  expect(course).toEqual({
    50: [expect.closeTo(0.24994259560183688, 10), expect.closeTo(-0.36434502614433345, 10)],
    100: [expect.closeTo(0.6695909432957188, 10), expect.closeTo(-0.5000081694733913, 10)],
    200: [expect.closeTo(1.3591015991681117, 10), expect.closeTo(-0.6730198425241686, 10)],
    400: [expect.closeTo(3.4242808086366328, 10), expect.closeTo(-0.9462233486996009, 10)],
  });
});

test('a margin moves the differences against either direction', () => {
  const evidence = evidenceOf([0.1, 0, 0.2, -0.2], 0.05);
  expect(evidence.promote / Math.LN10).toBeCloseTo(-0.016563100699115912, 12);
  expect(evidence.regress / Math.LN10).toBeCloseTo(-0.04116395687876627, 12);
});

test('evidence is the capital of the nine gamblers together', () => {
  fc.assert(
    fc.property(differences, fc.constantFrom(0, 0.1, 0.6), (values, margin) => {
      const evidence = evidenceOf(values, margin);
      expect(evidence.promote).toBeCloseTo(byDefinition(values, margin), 10);
      expect(evidence.regress).toBeCloseTo(
        byDefinition(
          values.map((value) => -value),
          margin,
        ),
        10,
      );
    }),
  );
});

test('swapping the arms changes only the direction', () => {
  fc.assert(
    fc.property(differences, fc.constantFrom(0, 0.2), (values, margin) => {
      const there = evidenceOf(values, margin);
      const opposite = values.map((value) => -value);
      const back = evidenceOf(opposite, margin);
      expect([back.promote, back.regress]).toEqual([there.regress, there.promote]);
    }),
  );
});

test('an unresolved difference never gives more evidence, in either direction, than the true one would have', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(difference, difference, difference), { maxLength: 40 }), (triples) => {
      const [unresolved, known] = [new PairedEvidence(0.05), new PairedEvidence(0.05)];
      for (const triple of triples) {
        const [low, truth, high] = triple.toSorted((a, b) => a - b);
        unresolved.fold(low ?? Number.NaN, high ?? Number.NaN);
        known.fold(truth ?? Number.NaN, truth ?? Number.NaN);
      }
      expect(unresolved.promote).toBeLessThanOrEqual(known.promote + 1e-12);
      expect(unresolved.regress).toBeLessThanOrEqual(known.regress + 1e-12);
    }),
  );
});

test('evidence never supports both directions', () => {
  fc.assert(
    fc.property(fc.array(difference, { maxLength: 300 }), (values) => {
      const { promote, regress } = evidenceOf(values);
      expect(Math.min(promote, regress)).toBeLessThanOrEqual(1e-9);
    }),
  );
});

test('a million pairs neither overflow nor underflow', () => {
  const evidence = new PairedEvidence(0);
  for (let pair = 0; pair < 1_000_000; pair += 1) evidence.fold(1, 1);
  const [largest, smallest] = [BETS[0]?.bet ?? Number.NaN, BETS.at(-1)?.bet ?? Number.NaN];
  expect(evidence.promote / (1e6 * Math.log1p(largest) + Math.log(1.625 / 9.625))).toBeCloseTo(1, 10);
  expect(evidence.regress / (1e6 * Math.log1p(-smallest) + Math.log(1 / 9.625))).toBeCloseTo(1, 10);
});

test.each([
  ['all of the range', 1, 8],
  ['half of it', 0.5, 14],
  ['a tenth of it', 0.1, 59],
])('what is needed is roughly known in advance: a difference of %s', (_name, value, pairs) => {
  const needed = Math.log(40);
  const evidence = new Evidence(0);
  expect(evidence.estimateUntil(needed, value, 0)).toBeGreaterThan(0.6 * pairs);
  expect(evidence.estimateUntil(needed, value, 0)).toBeLessThanOrEqual(pairs);
  for (let pair = 1; pair < pairs; pair += 1) evidence.fold(value);
  expect(evidence.log).toBeLessThan(needed);
  evidence.fold(value);
  expect(evidence.log).toBeGreaterThanOrEqual(needed);
  expect(evidence.estimateUntil(needed, value, 0)).toBe(0);
});

test('no evidence is expected when the mean is not above 0, or too small compared with the spread', () => {
  expect(new Evidence(0).estimateUntil(1, 0, 1)).toBe(Infinity);
  expect(new Evidence(0).estimateUntil(1, -0.1, 0)).toBe(Infinity);
  expect(new Evidence(0).estimateUntil(1, 0.001, 1)).toBe(Infinity);
});

test.each([1, -0.1, Number.NaN])('a margin of %d times the range is an error of the caller', (margin) => {
  expect(() => new PairedEvidence(margin)).toThrow(RangeError);
});

test('the overshoot at a stop is the gain from a higher mean, relative to the growth of the capitals', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.01, max: 1, noNaN: true }), fc.integer({ min: 10, max: 60 }), (value, count) => {
      const [evidence, more] = [new Evidence(0), new Evidence(0)];
      const epsilon = 1e-6;
      for (let i = 0; i < count; i += 1) {
        evidence.fold(value);
        more.fold(value + epsilon);
      }
      const grown = Array.from({ length: GAMBLERS }, (_, k) => {
        const start = (k === 0 ? 1.625 : 1) / (1.625 + GAMBLERS - 1);
        return Math.exp(evidence.logCapital(k) - evidence.log) * (evidence.logCapital(k) - Math.log(start));
      }).reduce((sum, growth) => sum + growth, 0);
      const slope = (more.log - evidence.log) / epsilon / count;
      expect(Math.abs((evidence.estimateOvershoot(value) * grown) / slope - 1)).toBeLessThan(1e-3);
    }),
  );
  expect(new Evidence(0).estimateOvershoot(0)).toBe(0);
});

test('the bias of a difference has the sign of the verdict', () => {
  const won = evidenceOf(Array<number>(30).fill(0.5));
  expect(won.computeBias('promote', 0.5, 0.1)).toBeGreaterThan(0);
  const lost = evidenceOf(Array<number>(30).fill(-0.5));
  expect(lost.computeBias('regress', -0.5, 0.1)).toBeCloseTo(-won.computeBias('promote', 0.5, 0.1), 12);
});
