import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import { ConfidenceSequence } from '../../src/aggregation/stopping/certified.ts';
import type { ConfidenceSequenceOptions } from '../../src/aggregation/stopping/certified.ts';
import { seededRandom } from './seeded-random.ts';

interface RangedValue {
  readonly low: number;
  readonly high: number;
  readonly range: Bounds;
}

/** A value, or the lowest and highest that an unresolved one could be, or either of these in a range wider than [0, 1]. */
type Value = number | readonly [number, number] | RangedValue;

function spelledOut(value: Value): RangedValue {
  if (typeof value === 'number') return { low: value, high: value, range: { low: 0, high: 1 } };
  return 'range' in value ? value : { low: value[0], high: value[1], range: { low: 0, high: 1 } };
}

function run(options: ConfidenceSequenceOptions, values: Iterable<Value>): ConfidenceSequence {
  const sequence = new ConfidenceSequence(options);
  for (const value of values) fold(sequence, value);
  return sequence;
}

function fold(sequence: ConfidenceSequence, value: Value): void {
  if (typeof value === 'number') sequence.fold(value, value);
  else if ('range' in value) sequence.fold(value.low, value.high, value.range);
  else sequence.fold(value[0], value[1]);
}

/** The definition, word for word: a logarithm for each point and value, and every point looked at. */
function byDefinition(halfWidth: number, confidence: number, grid: number, values: readonly Value[]): { low: number; high: number } {
  const limit = Math.log(2 / (1 - confidence));
  const up = new Float64Array(grid + 1);
  const down = new Float64Array(grid + 1);
  const alive = new Uint8Array(grid + 1).fill(1);
  let [resolved, unresolved, sum, squares, below, above] = [0, 0, 0, 0, 0, 0];
  let before: Bounds = { low: 0, high: 1 };
  for (const value of values) {
    const { low, high, range } = spelledOut(value);
    if (range.low !== before.low || range.high !== before.high)
      [resolved, unresolved, sum, squares, below, above] = [resolved / 2, unresolved / 2, sum / 2, squares / 2, below / 2, above / 2];
    before = range;
    const folded = resolved + unresolved + 1;
    const aim = (1.5 * halfWidth) / (1 + unresolved / folded / (2 * halfWidth));
    const mean = resolved === 0 ? 0.5 : sum / resolved;
    const bet = (distance: number, cubes: number, fromWorst: number): number => {
      const near = 0.4 / (1 + (fromWorst / (0.8 * aim)) ** 2);
      const variance = (squares + near + 0.1 / folded + (0.17 + unresolved) * distance) / folded;
      const loss = (cubes + (1 + unresolved) * distance) / (1 + unresolved + squares);
      return Math.min(aim / (variance + aim * loss), 0.95 / Math.max(distance, 1 / grid));
    };
    for (let point = 0; point <= grid; point += 1) {
      const m = point / grid;
      up[point] = (up[point] ?? 0) + Math.log1p(bet(m - range.low, below, mean - range.low) * (low - m));
      down[point] = (down[point] ?? 0) + Math.log1p(-bet(range.high - m, above, range.high - mean) * (high - m));
      if (Math.max(up[point] ?? 0, down[point] ?? 0) >= limit) alive[point] = 0;
    }
    if (low !== high) {
      unresolved += 1;
      continue;
    }
    resolved += 1;
    sum += low;
    const deviation = low - sum / resolved;
    squares += deviation ** 2;
    below += Math.max(-deviation, 0) ** 3;
    above += Math.max(deviation, 0) ** 3;
  }
  return { low: Math.max(0, (alive.indexOf(1) - 1) / grid), high: Math.min(1, (alive.lastIndexOf(1) + 1) / grid) };
}

const goldenSequence = (length: number): number[] =>
  Array.from({ length }, (_, position) => {
    const product = 0.6180339887498949 * (position + 1);
    return product - Math.floor(product) < 0.8 ? 1 : 0;
  });

const golden = { halfWidth: 0.05, confidence: 0.95, grid: 1000 };

test('50 and 200 values of the golden sequence give the golden intervals', () => {
  const first = run(golden, goldenSequence(50));
  expect([first.low, first.high].map((end) => Math.round(1e12 * end))).toEqual([567e9, 958e9]);
  const second = run(golden, goldenSequence(200));
  expect([second.low, second.high].map((end) => Math.round(1e12 * end))).toEqual([707e9, 866e9]);
});

test('nothing is known before the first value', () => {
  const sequence = new ConfidenceSequence({ halfWidth: 0.1, confidence: 0.95 });
  expect([sequence.low, sequence.high, sequence.contradicted]).toEqual([0, 1, false]);
});

const unit = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
const unresolved = fc.constant<readonly [number, number]>([0, 1]);
const values = fc.array(fc.oneof({ weight: 9, arbitrary: unit }, { weight: 1, arbitrary: unresolved }), { maxLength: 150 });
const bernoulli = fc.tuple(fc.nat(2 ** 32 - 1), fc.constantFrom(0.02, 0.5, 0.9, 0.99), fc.nat(400)).map(([seed, p, length]) => {
  const random = seededRandom(seed);
  return Array.from({ length }, (): Value => {
    const draw = random();
    return draw < 0.01 ? [0, 1] : draw < p ? 1 : 0;
  });
});

test('the walk over the ends keeps exactly the points that the definition keeps', () => {
  fc.assert(
    fc.property(fc.oneof(values, bernoulli), fc.constantFrom(0.02, 0.1, 0.4), fc.constantFrom(0.8, 0.95), (xs, halfWidth, confidence) => {
      const grid = Math.ceil(40 / halfWidth);
      const sequence = run({ halfWidth, confidence, grid }, xs);
      fc.pre(!sequence.contradicted);
      expect({ low: sequence.low, high: sequence.high }).toEqual(byDefinition(halfWidth, confidence, grid, xs));
    }),
  );
});

/** Blocks of values with one mean, each in a range of its own: often on an end of it, at times unresolved. */
const ranged = fc
  .record({
    seed: fc.nat(2 ** 32 - 1),
    mean: fc.constantFrom(0.01, 0.3, 0.9, 1),
    blocks: fc.array(fc.record({ length: fc.nat(80), below: fc.constantFrom(0, 0.2, 3), above: fc.constantFrom(0, 0.5, 7) }), {
      maxLength: 6,
    }),
  })
  .map(({ seed, mean, blocks }) => {
    const random = seededRandom(seed);
    return blocks.flatMap(({ length, below, above }) => {
      const range: Bounds = { low: -below, high: 1 + above };
      return Array.from({ length }, (): Value => {
        if (random() < 0.02) return { ...range, range };
        const value = random() < 0.2 ? mean : random() < (mean - range.low) / (range.high - range.low) ? range.high : range.low;
        return { low: value, high: value, range };
      });
    });
  });

test('the walk over the ends keeps exactly the points that the definition keeps when values have varying ranges', () => {
  fc.assert(
    fc.property(ranged, fc.constantFrom(0.02, 0.1, 0.4), fc.constantFrom(0.8, 0.95), (xs, halfWidth, confidence) => {
      const grid = Math.ceil(40 / halfWidth);
      const sequence = run({ halfWidth, confidence, grid }, xs);
      fc.pre(!sequence.contradicted);
      expect({ low: sequence.low, high: sequence.high }).toEqual(byDefinition(halfWidth, confidence, grid, xs));
    }),
  );
});

const inRange = (xs: readonly number[], range: Bounds): Value[] => xs.map((x) => ({ low: x, high: x, range }));

test('the default range is [0, 1]', () => {
  const xs = goldenSequence(200);
  const unranged = run(golden, xs);
  const given = run(golden, inRange(xs, { low: 0, high: 1 }));
  expect([given.low, given.high, given.estimateRemaining()]).toEqual([unranged.low, unranged.high, unranged.estimateRemaining()]);
});

test('a range wider than the values costs certainty, and a range without a possible mean is refused', () => {
  const xs = goldenSequence(200);
  const unwidened = run(golden, xs);
  const widened = run(golden, inRange(xs, { low: -4, high: 5 }));
  expect(widened.low).toBeLessThan(unwidened.low);
  expect(widened.high).toBeGreaterThan(unwidened.high);
  const sequence = new ConfidenceSequence(golden);
  for (const [low, high] of [
    [0.1, 1],
    [0, 0.9],
    [Number.NaN, 1],
  ] as const)
    expect(() => sequence.fold(0.5, 0.5, { low, high })).toThrow(/range around \[0, 1\]/);
});

test('a long run of missing values does not make the capital forget', () => {
  const missing = Array.from({ length: 1500 }, (): Value => [0, 1]);
  const random = seededRandom(3);
  const seen = Array.from({ length: 2500 }, () => (random() < 0.9 ? 1 : 0));
  const xs = [...missing, ...seen];
  const sequence = run({ halfWidth: 0.4, confidence: 0.8 }, xs);
  expect({ low: sequence.low, high: sequence.high }).toEqual(byDefinition(0.4, 0.8, 100, xs));
  expect(sequence.low).toBeGreaterThan(0);
});

test('an excluded mean is never admitted again, and the estimate of the needed episodes is always a number', () => {
  fc.assert(
    fc.property(fc.oneof(values, bernoulli, ranged), (xs) => {
      const sequence = new ConfidenceSequence({ halfWidth: 0.1, confidence: 0.95 });
      let [low, high] = [0, 1];
      for (const value of xs) {
        fold(sequence, value);
        expect(sequence.low).toBeGreaterThanOrEqual(low);
        expect(sequence.high).toBeLessThanOrEqual(high);
        [low, high] = [sequence.low, sequence.high];
        expect(sequence.estimateRemaining()).toSatisfy((remaining: number) => Number.isSafeInteger(remaining) && remaining >= 1);
      }
    }),
  );
});

test('an unresolved value never narrows the interval, and costs episodes', () => {
  fc.assert(
    fc.property(fc.oneof(values, bernoulli, ranged), (xs) => {
      const sequence = new ConfidenceSequence({ halfWidth: 0.1, confidence: 0.95 });
      for (const value of xs) {
        const [low, high] = [sequence.low, sequence.high];
        fold(sequence, value);
        const spelled = spelledOut(value);
        const isUnresolved = spelled.low === spelled.range.low && spelled.high === spelled.range.high;
        expect(isUnresolved && (sequence.low > low || sequence.high < high)).toBe(false);
      }
    }),
  );
  const episodes = (lostEach: number, p: number): number => {
    const random = seededRandom(11);
    const sequence = new ConfidenceSequence({ halfWidth: 0.05, confidence: 0.95 });
    let folded = 0;
    for (; sequence.high - sequence.low > 0.1; folded += 1)
      fold(sequence, folded % lostEach === lostEach - 1 ? [0, 1] : random() < p ? 1 : 0);
    return folded;
  };
  for (const p of [0.5, 0.9, 1]) expect(episodes(40, p)).toBeGreaterThan(episodes(Infinity, p));
  expect(episodes(40, 1)).toBeLessThan(3 * episodes(Infinity, 1));
});

test('values that drift contradict every mean, which is reported, and the interval stays where it was', () => {
  const steady = Array.from({ length: 1000 }, (_, position) => position % 2);
  const sequence = run({ halfWidth: 0.05, confidence: 0.95 }, steady);
  const high = sequence.high;
  expect(sequence.contradicted).toBe(false);
  for (let extra = 0; extra < 1000; extra += 1) fold(sequence, 1);
  expect(sequence.contradicted).toBe(true);
  expect(sequence.high).toBe(high);
  expect(sequence.low).toBeCloseTo(high - 2 / 800, 12);
});

test('the estimate of what is still needed comes true on average', () => {
  const options = { halfWidth: 0.05, confidence: 0.95 };
  for (const p of [0.5, 0.9, 0.98]) {
    let [estimated, needed] = [0, 0];
    for (let seed = 0; seed < 40; seed += 1) {
      const random = seededRandom(seed);
      const sequence = new ConfidenceSequence(options);
      let folded = 0;
      while (sequence.high - sequence.low > 2 * options.halfWidth) {
        const value = random() < p ? 1 : 0;
        sequence.fold(value, value);
        folded += 1;
        expect(sequence.estimateRemaining()).toBeGreaterThanOrEqual(1);
        if (folded === 30) estimated += sequence.estimateRemaining();
      }
      needed += folded - 30;
    }
    expect(estimated / needed).toBeGreaterThan(0.6);
    expect(estimated / needed).toBeLessThan(1.6);
  }
});

test('options out of range are refused', () => {
  const refused = [
    { halfWidth: 0 },
    { halfWidth: 0.5 },
    { halfWidth: Number.NaN },
    { confidence: 1 },
    { confidence: 0 },
    { grid: 799 },
    { grid: 1000.5 },
  ];
  for (const wrong of refused) expect(() => new ConfidenceSequence({ ...golden, ...wrong })).toThrow(RangeError);
});
