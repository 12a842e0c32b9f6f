import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { MixtureSequence } from '../../src/aggregation/comparison/mixture-sequence.ts';
import { PairedEvidence } from '../../src/aggregation/comparison/paired-evidence.ts';
import { seededRandom } from './seeded-random.ts';

const NEEDED = Math.log(40);
const BETS = Array.from({ length: 9 }, (_, k) => ({ bet: 0.95 * 0.6 ** k, share: (k === 0 ? 1.625 : 1) / 9.625 }));

/** log E⁺(m), straight from the definition. */
function evidence(values: readonly number[], mean: number): number {
  const bets = BETS.map(({ bet, share }) => ({ share, bet: Math.min(bet, 0.95 / (1 + mean)) }));
  const capitals = bets.map(({ bet, share }) => values.reduce((capital, value) => capital * (1 + bet * (value - mean)), share));
  return Math.log(capitals.reduce((sum, capital) => sum + capital, 0));
}

/** The greatest mean that E⁺ has ruled out at any time, by bisection of its definition after every value; −1 if none. */
function lowerEnd(values: readonly number[], needed: number): number {
  let end = -1;
  for (let count = 1; count <= values.length; count += 1) {
    const seen = values.slice(0, count);
    let [inside, outside] = [end, 1];
    if (evidence(seen, inside) < needed) continue;
    while (outside - inside > 1e-9) {
      const middle = (inside + outside) / 2;
      if (evidence(seen, middle) >= needed) inside = middle;
      else outside = middle;
    }
    end = inside;
  }
  return end;
}

function sequenceOf(values: readonly number[], margin = 0, needed = NEEDED): MixtureSequence {
  const sequence = new MixtureSequence(margin, needed);
  for (const value of values) sequence.fold(value, value);
  return sequence;
}

const difference = fc.oneof(fc.constantFrom(-1, 0, 1), fc.double({ min: -1, max: 1, noNaN: true }));
const margin = fc.oneof(fc.constantFrom(0, 0.1, 0.5), fc.double({ min: 1e-3, max: 0.99, noNaN: true }));
/** Mostly above a mean or mostly below, so that there is something to rule out. */
const differences = fc
  .tuple(fc.double({ min: -0.9, max: 0.9, noNaN: true }), fc.array(difference, { minLength: 10, maxLength: 90 }))
  .map(([centre, values]) => values.map((value) => centre + (1 - Math.abs(centre)) * value));

test('evidence falls with the tested mean, so it excludes exactly the means below an end', () => {
  fc.assert(
    fc.property(differences, fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 2, maxLength: 8 }), (values, means) => {
      const falling = means.toSorted((a, b) => a - b).map((mean) => evidence(values, mean));
      for (const [position, log] of falling.slice(1).entries()) expect(log).toBeLessThanOrEqual((falling[position] ?? -Infinity) + 1e-12);
    }),
  );
});

test('the ends are within 10⁻⁴ of where the evidence was ever enough by its definition, and never beyond', () => {
  fc.assert(
    fc.property(differences, margin, (values, share) => {
      const { low, high } = sequenceOf(values, share, 1.5);
      const below = lowerEnd(values, 1.5);
      const above = -lowerEnd(
        values.map((value) => -value),
        1.5,
      );
      // Contradicted: of no use any more.
      fc.pre(below < above);
      expect(low).toBeLessThanOrEqual(below + 1e-8);
      expect(low).toBeGreaterThan(below - 1e-4);
      expect(high).toBeGreaterThanOrEqual(above - 1e-8);
      expect(high).toBeLessThan(above + 1e-4);
    }),
    { numRuns: 60 },
  );
});

test('a difference of half of the range in every pair has the golden course, solved from the definition', () => {
  const sequence = new MixtureSequence(0, NEEDED);
  const course: Record<number, readonly number[]> = {};
  for (let pair = 1; pair <= 100; pair += 1) {
    sequence.fold(0.5, 0.5);
    if ([10, 25, 26, 100].includes(pair)) course[pair] = [sequence.low, sequence.high];
  }
  expect(course).toEqual({
    10: [expect.closeTo(-0.238194, 4), 1],
    25: [expect.closeTo(0.203506, 4), expect.closeTo(0.750565, 4)],
    26: [expect.closeTo(0.213913, 4), expect.closeTo(0.739935, 4)],
    100: [expect.closeTo(0.421156, 4), expect.closeTo(0.557839, 4)],
  });
});

test('an end passes the margin in exactly the pair in which the evidence for that verdict is enough', () => {
  fc.assert(
    fc.property(differences, margin, (values, share) => {
      const sequence = new MixtureSequence(share, 1.5);
      const verdicts = new PairedEvidence(share);
      let [isPromoted, isRegressed] = [false, false];
      for (const value of values) {
        sequence.fold(value, value);
        verdicts.fold(value, value);
        isPromoted ||= verdicts.promote >= 1.5;
        isRegressed ||= verdicts.regress >= 1.5;
        if (sequence.low >= sequence.high) return;
        expect(sequence.low >= share).toBe(isPromoted);
        expect(sequence.high <= -share).toBe(isRegressed);
        // With more than just enough it lies beyond the margin, not only on it.
        expect(sequence.low > share || verdicts.promote <= 1.5 + 1e-9).toBe(true);
        expect(sequence.high < -share || verdicts.regress <= 1.5 + 1e-9).toBe(true);
      }
    }),
  );
});

test('an end passes the margin exactly for evidence that is just enough', () => {
  fc.assert(
    fc.property(differences, margin, (values, share) => {
      const verdict = new PairedEvidence(share);
      let most = 0;
      for (const value of values) {
        verdict.fold(value, value);
        most = Math.max(most, verdict.promote);
      }
      fc.pre(most > 1.5);
      const { low, high } = sequenceOf(values, share, most);
      fc.pre(low < high);
      expect(low).toBeGreaterThanOrEqual(share);
      expect(sequenceOf(values, share, most * (1 + 1e-9)).low).toBeLessThan(share);
    }),
  );
});

test('the interval only gets narrower', () => {
  fc.assert(
    fc.property(differences, margin, (values, share) => {
      const sequence = new MixtureSequence(share, 1.5);
      let [low, high] = [-1, 1];
      for (const value of values) {
        sequence.fold(value, value);
        expect(sequence.low).toBeGreaterThanOrEqual(low);
        expect(sequence.high).toBeLessThanOrEqual(high);
        ({ low, high } = sequence);
      }
    }),
  );
});

test('swapping the arms mirrors the interval exactly', () => {
  fc.assert(
    fc.property(differences, margin, (values, share) => {
      const there = sequenceOf(values, share);
      const back = sequenceOf(
        values.map((value) => -value),
        share,
      );
      expect([back.low, back.high]).toEqual([-there.high, -there.low]);
    }),
  );
});

test('an unresolved difference only widens', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(difference, difference, difference), { maxLength: 60 }), (triples) => {
      const [unresolved, known] = [new MixtureSequence(0.05, 1), new MixtureSequence(0.05, 1)];
      for (const triple of triples) {
        const [low = Number.NaN, truth = Number.NaN, high = Number.NaN] = triple.toSorted((a, b) => a - b);
        unresolved.fold(low, high);
        known.fold(truth, truth);
        if (known.low >= known.high) return;
        // The same evidence up to the chords: one end may be approached from another side.
        expect(unresolved.low).toBeLessThanOrEqual(known.low + 1e-4);
        expect(unresolved.high).toBeGreaterThanOrEqual(known.high - 1e-4);
      }
    }),
  );
});

test('a million pairs: the interval is narrow, and still around the mean', () => {
  const random = seededRandom(11);
  const sequence = new MixtureSequence(0, NEEDED);
  for (let pair = 0; pair < 1_000_000; pair += 1) {
    const draw = random();
    const value = draw < 0.125 ? 1 : draw < 0.2 ? -1 : 0;
    sequence.fold(value, value);
  }
  expect(sequence.low).toBeGreaterThan(0.047);
  expect(sequence.low).toBeLessThan(0.05);
  expect(sequence.high).toBeGreaterThan(0.05);
  expect(sequence.high).toBeLessThan(0.053);
});

test('a candidate that wins by the whole range, and loses by it once, has a regular interval', () => {
  const values = [...Array<number>(5000).fill(1), -1, ...Array<number>(100).fill(1)];
  const { low, high } = sequenceOf(values);
  expect(low).toBeGreaterThan(0.99);
  expect([low < 1, high]).toEqual([true, 1]);
  expect(sequenceOf([-1, ...values]).low).toBeCloseTo(low, 2);
});

test.each([
  { pairs: 'a fifth of the pairs differ', wins: 0.1, losses: 0.1 },
  { pairs: 'all pairs differ', wins: 0.5, losses: 0.5 },
  { pairs: 'one in fifty differs, mostly for the better', wins: 0.015, losses: 0.005 },
])('at 80 %, looked at after each of 400 pairs, the mean is left out in at most 20 % of comparisons: $pairs', ({ wins, losses }) => {
  const random = seededRandom(31);
  const [runs, needed, mean] = [400, Math.log(2 / 0.2), wins - losses];
  let missed = 0;
  for (let run = 0; run < runs; run += 1) {
    const sequence = new MixtureSequence(0, needed);
    for (let pair = 0; pair < 400; pair += 1) {
      const draw = random();
      const value = draw < wins ? 1 : draw < wins + losses ? -1 : 0;
      sequence.fold(value, value);
    }
    if (sequence.low >= mean || sequence.high <= mean) missed += 1;
  }
  expect(missed).toBeLessThanOrEqual(0.2 * runs);
});
