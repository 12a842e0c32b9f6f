import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Evidence, PairedEvidence } from '../../src/aggregation/paired-evidence.ts';

const BETS = Array.from({ length: 8 }, (_, k) => 0.5 * 0.6 ** k);

/** Straight from the definition: mean over k of Π(1 + λₖ·x), as a logarithm. */
function byDefinition(values: readonly number[]): number {
  const capitals = BETS.map((bet) => values.reduce((capital, value) => capital * (1 + bet * value), 1));
  return Math.log(capitals.reduce((sum, capital) => sum + capital, 0) / BETS.length);
}

function evidenceOf(differences: readonly number[], margin = 0): PairedEvidence {
  const evidence = new PairedEvidence(margin);
  for (const difference of differences) evidence.fold(difference, difference);
  return evidence;
}

const difference = fc.oneof(fc.constantFrom(-1, 0, 1), fc.double({ min: -1, max: 1, noNaN: true }));
const differences = fc.array(difference, { maxLength: 60 });

test('golden values by hand: one win, a win and a loss, no difference', () => {
  expect(Math.exp(evidenceOf([1]).promote)).toBeCloseTo(1.1536256, 12);
  expect(Math.exp(evidenceOf([1]).regress)).toBeCloseTo(0.8463744, 12);
  expect(Math.exp(evidenceOf([1, -1]).promote)).toBeCloseTo(0.95118564995072, 12);
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
    50: [expect.closeTo(0.2976403527743499, 10), expect.closeTo(-0.25946067650503746, 10)],
    100: [expect.closeTo(0.7059765451654936, 10), expect.closeTo(-0.38826642299075936, 10)],
    200: [expect.closeTo(1.4247681184731564, 10), expect.closeTo(-0.5510566566661669, 10)],
    400: [expect.closeTo(3.543778840301444, 10), expect.closeTo(-0.8053961804086938, 10)],
  });
});

test('a margin moves the differences against either direction', () => {
  const evidence = evidenceOf([0.1, 0, 0.2, -0.2], 0.05);
  expect(evidence.promote / Math.LN10).toBeCloseTo(-0.007583158467542954, 12);
  expect(evidence.regress / Math.LN10).toBeCloseTo(-0.020653715798874744, 12);
});

test('evidence is the average capital of the eight bets', () => {
  fc.assert(
    fc.property(differences, fc.constantFrom(0, 0.1, 0.6), (values, margin) => {
      const evidence = evidenceOf(values, margin);
      expect(evidence.promote).toBeCloseTo(byDefinition(values.map((value) => value - margin)), 10);
      expect(evidence.regress).toBeCloseTo(byDefinition(values.map((value) => -value - margin)), 10);
    }),
  );
});

test('both arms changing places changes the direction and nothing else', () => {
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

test('never is there evidence for both directions', () => {
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
  const [largest = Number.NaN] = BETS;
  const smallest = BETS.at(-1) ?? Number.NaN;
  expect(evidence.promote / (1e6 * Math.log1p(largest) - Math.log(8))).toBeCloseTo(1, 10);
  expect(evidence.regress / (1e6 * Math.log1p(-smallest) - Math.log(8))).toBeCloseTo(1, 10);
});

test.each([
  ['all of the range', 1, 14],
  ['half of it', 0.5, 26],
  ['a tenth of it', 0.1, 115],
])('what is needed is roughly known in advance: a difference of %s', (_name, value, pairs) => {
  const needed = Math.log(40);
  const evidence = new Evidence();
  expect(evidence.expectedUntil(needed, value, 0)).toBeGreaterThan(0.6 * pairs);
  expect(evidence.expectedUntil(needed, value, 0)).toBeLessThanOrEqual(pairs);
  for (let pair = 1; pair < pairs; pair += 1) evidence.fold(value);
  expect(evidence.log).toBeLessThan(needed);
  evidence.fold(value);
  expect(evidence.log).toBeGreaterThanOrEqual(needed);
  expect(evidence.expectedUntil(needed, value, 0)).toBe(0);
});

test('no evidence is in sight where the mean is not above 0, or too small beside the spread', () => {
  expect(new Evidence().expectedUntil(1, 0, 1)).toBe(Infinity);
  expect(new Evidence().expectedUntil(1, -0.1, 0)).toBe(Infinity);
  expect(new Evidence().expectedUntil(1, 0.001, 1)).toBe(Infinity);
});

test.each([1, -0.1, Number.NaN])('a margin of %d times the range is an error of the caller', (margin) => {
  expect(() => new PairedEvidence(margin)).toThrow(RangeError);
});
