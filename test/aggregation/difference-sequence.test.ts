import { expect, test } from 'vitest';
import { DifferenceSequence } from '../../src/aggregation/comparison/difference-sequence.ts';
import { MixtureSequence } from '../../src/aggregation/comparison/mixture-sequence.ts';
import { seededRandom } from './seeded-random.ts';

const NEEDED = Math.log(40);

/** Seven wins and three losses by all of the range: a mean of 0.4. */
const SEVEN_OF_TEN = [1, 1, -1, 1, 1, -1, 1, 1, -1, 1];

function fold(sequence: DifferenceSequence | MixtureSequence, cycle: readonly number[], pairs: number): void {
  for (let pair = 0; pair < pairs; pair += 1) {
    const value = cycle[pair % cycle.length] ?? Number.NaN;
    sequence.fold(value, value);
  }
}

test('without a margin the interval is what the evidence for promotion and regression leaves open', () => {
  const [sequence, mixture] = [new DifferenceSequence(0, NEEDED), new MixtureSequence(0, NEEDED)];
  for (const each of [sequence, mixture]) fold(each, SEVEN_OF_TEN, 500);
  expect([sequence.low, sequence.high]).toEqual([mixture.low, mixture.high]);
  expect([sequence.isWithinMargin, sequence.estimateWithinMargin(0, 0.1)]).toEqual([false, Infinity]);
});

test('until equivalence is shown, the interval reaches the margin, even when the mixture no longer does', () => {
  const sequence = new DifferenceSequence(0.1, NEEDED);
  for (let pair = 0; !sequence.isWithinMargin; pair += 1) {
    expect(Math.max(-sequence.low, sequence.high)).toBeGreaterThanOrEqual(0.1);
    sequence.fold(0, 0);
    expect(pair).toBeLessThan(100);
  }
  const mixture = new MixtureSequence(0.1, NEEDED);
  fold(mixture, [0], 74);
  expect(mixture.high).toBeLessThan(0.1);
  expect(Math.max(-sequence.low, sequence.high)).toBeLessThan(0.1);
});

test('close to the margin the interval still crosses it, even when the other evidence is enough', () => {
  const [sequence, mixture] = [new DifferenceSequence(0.5, NEEDED), new MixtureSequence(0.5, NEEDED)];
  for (const each of [sequence, mixture]) fold(each, SEVEN_OF_TEN, 4000);
  expect(mixture.high).toBeLessThan(0.49);
  expect(sequence.isWithinMargin).toBe(false);
  expect(sequence.high).toBeGreaterThanOrEqual(0.5);
  expect(sequence.high).toBeLessThan(0.51);
  expect(sequence.low).toBe(mixture.low);
});

test('the interval before differences contradict every mean is kept', () => {
  const sequence = new DifferenceSequence(0, NEEDED);
  fold(sequence, [1, -1], 2000);
  let { low, high } = sequence;
  for (let pair = 0; !sequence.contradicted && pair < 2000; pair += 1) {
    ({ low, high } = sequence);
    sequence.fold(1, 1);
  }
  expect(sequence.contradicted).toBe(true);
  expect(low).toBeLessThan(high);
  fold(sequence, [1], 100);
  expect([sequence.low, sequence.high]).toEqual([low, high]);
});

test.each([
  { mean: 'on the margin', wins: 0.15, losses: 0.05 },
  { mean: 'on the margin, below', wins: 0.05, losses: 0.15 },
  { mean: 'within', wins: 0.12, losses: 0.08 },
])('at α = 20 % the mean is left out, at any time, in at most 30 % of comparisons with a margin: a mean $mean', ({ wins, losses }) => {
  const random = seededRandom(17);
  const [runs, mean] = [400, wins - losses];
  let missed = 0;
  for (let run = 0; run < runs; run += 1) {
    const sequence = new DifferenceSequence(0.1, Math.log(2 / 0.2));
    for (let pair = 0; pair < 400; pair += 1) {
      const draw = random();
      const value = draw < wins ? 1 : draw < wins + losses ? -1 : 0;
      sequence.fold(value, value);
    }
    if (sequence.low >= mean || sequence.high <= mean) missed += 1;
  }
  expect(missed).toBeLessThanOrEqual(0.3 * runs);
});
