import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import { computeHalfWidth, computeClopperPearsonInterval } from '../../src/aggregation/intervals/intervals.ts';
import type { Interval } from '../../src/aggregation/intervals/intervals.ts';
import type { Score, Stop, StoppingRule } from '../../src/aggregation/stopping/stopping-rule.ts';
import { createStoppingRule } from '../../src/aggregation/stopping/stopping.ts';
import { InputError } from '../../src/kernel/errors.ts';
import { seededRandom } from './seeded-random.ts';

const bounds: Bounds = { low: 0, high: 10 };
const fixed: Stop = { rule: 'fixed', episodes: 8, confidence: 0.95 };
const certified: Stop = { rule: 'certified', halfWidth: 0.5, confidence: 0.95 };
const approximate: Stop = { rule: 'approximate', halfWidth: 0.5, confidence: 0.95 };
const asymptotic: Stop = { rule: 'asymptotic', halfWidth: 0.5, confidence: 0.95, tightestAt: 500 };
const missing: Score = { low: 0, high: 10 };
const nothingKnown: Score = { low: -Infinity, high: Infinity };

const known = (value: number): Score => ({ low: value, high: value });

function folded(stop: Stop, declared: Bounds | undefined, scores: Iterable<Score>): StoppingRule {
  const rule = createStoppingRule(stop, declared);
  for (const score of scores) rule.fold(score);
  return rule;
}

function ends(interval: Interval | undefined): { low: number; high: number } {
  if (interval === undefined) throw new Error('expected an interval');
  return { low: interval.low, high: interval.high };
}

const some = [3, 1, 4, 1, 5, 9, 2, 6].map(known);

test('fixed: satisfied with the last of its episodes, and says how many are left', () => {
  const rule = createStoppingRule(fixed, bounds);
  const course = some.map((score) => {
    rule.fold(score);
    return [rule.isSatisfied(), rule.estimateRemaining()];
  });
  expect(course).toEqual([...[7, 6, 5, 4, 3, 2, 1].map((remaining) => [false, remaining]), [true, 0]]);
  expect(rule.targetHalfWidth).toBeUndefined();
});

test('fixed: the interval is of the method that fits the returns', () => {
  expect(folded(fixed, undefined, some).computeInterval()?.method).toBe('student-t');
  expect(folded(fixed, bounds, some).computeInterval()?.method).toBe('adjusted');
  expect(folded(fixed, bounds, [0, 10, 10].map(known)).computeInterval()?.method).toBe('clopper-pearson');
  expect(folded(fixed, bounds, [0, 10, 9.999].map(known)).computeInterval()?.method).toBe('adjusted');
});

test('fixed: a policy that always wins has an interval of positive width', () => {
  const { low, high } = ends(folded(fixed, bounds, Array(20).fill(known(10))).computeInterval());
  expect(low).toBeCloseTo(8.315665290169147, 9);
  expect(high).toBe(10);
});

test('fixed: one episode has no interval', () => {
  for (const declared of [bounds, undefined]) expect(folded(fixed, declared, [known(10)]).computeInterval()).toBeUndefined();
});

test('fixed: unresolved episodes count at their lowest for the low end and at their highest for the high end', () => {
  const wins = [10, 10, 10, 0, 10, 10].map(known);
  const { low, high } = ends(folded(fixed, bounds, [...wins, missing, missing]).computeInterval());
  expect(low).toBe(computeClopperPearsonInterval({ successes: 5, trials: 8 }, 0.95, bounds).low);
  expect(high).toBe(computeClopperPearsonInterval({ successes: 7, trials: 8 }, 0.95, bounds).high);

  const graded = ends(folded(fixed, bounds, [...some, missing]).computeInterval());
  expect(graded.low).toBe(ends(folded(fixed, bounds, [...some, known(0)]).computeInterval()).low);
  expect(graded.high).toBe(ends(folded(fixed, bounds, [...some, known(10)]).computeInterval()).high);
});

test('fixed: without bounds an unresolved episode leaves no interval, and the reason is given', () => {
  const rule = folded(fixed, undefined, [...some, nothingKnown]);
  expect(rule.computeInterval()).toBeUndefined();
  expect(rule.listWarnings()).toEqual([expect.stringContaining('1 of 9 episodes are unresolved')]);
  expect(folded(fixed, undefined, some).listWarnings()).toEqual([]);
  expect(folded(fixed, bounds, [...some, missing]).listWarnings()).toEqual([]);
});

const anyReturn = fc.oneof(fc.constantFrom(0, 10), fc.double({ min: 0, max: 10, noNaN: true })).map(known);
const scores = fc.array(anyReturn, { minLength: 2, maxLength: 100 });
const twoValued = fc.array(fc.constantFrom(0, 10).map(known), { minLength: 2, maxLength: 100 });
const everyRule = fc.constantFrom(fixed, certified, approximate, asymptotic);

test('with every rule, an unresolved episode only ever widens the interval', () => {
  fc.assert(
    fc.property(fc.oneof(scores, twoValued), fc.nat(100), everyRule, (seen, place, stop) => {
      const rule = folded(stop, bounds, seen);
      fc.pre(!rule.listWarnings().some((warning) => warning.includes('contradict')));
      const before = rule.computeInterval();
      const after = folded(stop, bounds, seen.toSpliced(place, 0, missing)).computeInterval();
      expect(after === undefined).toBe(before === undefined);
      if (before === undefined || after === undefined) return;
      expect(after.low).toBeLessThanOrEqual(before.low);
      expect(after.high).toBeGreaterThanOrEqual(before.high);
    }),
  );
});

const withMissing = fc.array(fc.oneof({ weight: 30, arbitrary: anyReturn }, { weight: 1, arbitrary: fc.constant(missing) }), {
  minLength: 1,
  maxLength: 100,
});

test('with every rule, the answer depends on the folded prefix alone, not on the moment of the call', () => {
  const answer = (rule: StoppingRule): unknown => [
    rule.isSatisfied(),
    rule.computeInterval(),
    rule.estimateRemaining(),
    rule.listWarnings(),
  ];
  fc.assert(
    fc.property(withMissing, everyRule, (seen, stop) => {
      const asked = createStoppingRule(stop, bounds);
      const answers = seen.map((score) => {
        asked.fold(score);
        return answer(asked);
      });
      for (const episodes of [seen.length, 1, 64, 80]) {
        const prefix = seen.slice(0, episodes);
        expect(answers[prefix.length - 1]).toEqual(answer(folded(stop, bounds, prefix)));
      }
    }),
  );
});

test('with every rule, an interval that is computed later belongs to the moment of the call', () => {
  fc.assert(
    fc.property(withMissing, everyRule, (seen, stop) => {
      const rule = createStoppingRule(stop, bounds);
      const moments = seen.map((score) => {
        rule.fold(score);
        return { atOnce: rule.computeInterval(), later: rule.deferInterval() };
      });
      for (const { atOnce, later } of moments) expect(later()).toEqual(atOnce);
    }),
  );
});

test('a rule with a target is satisfied only by an interval that reaches it', () => {
  const streams = fc.tuple(fc.nat(2 ** 31), fc.constantFrom(0, 0.5, 4), fc.constantFrom(0, 0.01));
  const rules = fc.constantFrom(certified, approximate, asymptotic);
  fc.assert(
    fc.property(streams, rules, fc.double({ min: 0.3, max: 4, noNaN: true }), ([seed, spread, lost], stop, halfWidth) => {
      const random = seededRandom(seed);
      const rule = createStoppingRule({ ...stop, halfWidth }, bounds);
      for (let episodes = 0; episodes < 400 && !rule.isSatisfied(); episodes += 1)
        rule.fold(random() < lost ? missing : known(5 + spread * (random() - random())));
      if (!rule.isSatisfied()) return;
      const interval = rule.computeInterval();
      expect(interval === undefined ? Infinity : computeHalfWidth(interval)).toBeLessThanOrEqual(halfWidth * (1 + 1e-12));
      expect([rule.estimateRemaining(), rule.targetHalfWidth]).toEqual([0, halfWidth]);
    }),
  );
});

test('certified: stops at the first episode at which the interval is narrow enough, and reports it in units of the return', () => {
  const random = seededRandom(11);
  const rule = createStoppingRule(certified, bounds);
  while (!rule.isSatisfied()) {
    const { low, high } = rule.computeInterval() ?? bounds;
    expect((high - low) / 2).toBeGreaterThan(0.5);
    expect(rule.estimateRemaining()).toBeGreaterThanOrEqual(1);
    rule.fold(known(random() < 0.9 ? 10 : 0));
  }
  const interval = rule.computeInterval();
  expect(interval).toMatchObject({ method: 'certified', confidence: 0.95, guarantee: expect.stringContaining('every stopping time') });
  const { low, high } = ends(interval);
  expect((high - low) / 2).toBeLessThanOrEqual(0.5);
  expect([low < 9, high > 9]).toEqual([true, true]);
  expect(rule.estimateRemaining()).toBe(0);
  expect(rule.targetHalfWidth).toBe(0.5);
});

test('certified: the scale and offset of the return change nothing but the units', () => {
  const random = seededRandom(5);
  const draws = Array.from({ length: 120 }, () => Math.floor(random() * 5) / 4);
  const shifted: Bounds = { low: -512, high: 512 };
  const plain = ends(folded({ ...certified, halfWidth: 0.125 }, { low: 0, high: 1 }, draws.map(known)).computeInterval());
  const moved = ends(
    folded(
      { ...certified, halfWidth: 128 },
      shifted,
      draws.map((draw) => known(draw * 1024 - 512)),
    ).computeInterval(),
  );
  expect(moved.low).toBeCloseTo(plain.low * 1024 - 512, 9);
  expect(moved.high).toBeCloseTo(plain.high * 1024 - 512, 9);
});

test('certified: bounds far wider than the returns are called loose; a bound that is reached is not', () => {
  const random = seededRandom(2);
  const narrow = Array.from({ length: 100 }, () => known(4.9 + 0.2 * random()));
  expect(folded(certified, bounds, narrow).listWarnings()).toEqual([expect.stringContaining('reward bounds [0, 10] are loose')]);
  expect(folded(certified, bounds, Array(100).fill(known(10))).listWarnings()).toEqual([]);
  const wide = Array.from({ length: 100 }, () => known(2 + 6 * random()));
  expect(folded(certified, bounds, wide).listWarnings()).toEqual([]);
});

test('certified: returns that drift are reported', () => {
  const drifting = [...Array.from({ length: 1000 }, (_, position) => known(10 * (position % 2))), ...Array<Score>(1000).fill(known(10))];
  expect(folded(certified, bounds, drifting).listWarnings()).toEqual([expect.stringContaining('contradict every mean')]);
});

test.each<[string, Stop, Bounds | undefined, RegExp]>([
  ['certified without bounds', certified, undefined, /stop\.rule: "certified" needs.*declare reward\.bounds/],
  ['approximate without bounds', approximate, undefined, /stop\.rule: "approximate" needs.*declare reward\.bounds/],
  [
    'a half-width that is met without an episode',
    { ...certified, halfWidth: 5 },
    bounds,
    /stop\.halfWidth: expected less than 5: .*before any episode/,
  ],
  [
    'a half-width as wide for "approximate"',
    { ...approximate, halfWidth: 5 },
    bounds,
    /stop\.halfWidth: expected less than 5: .*before any episode/,
  ],
  ['a half-width out of reach', { ...certified, halfWidth: 1e-6 }, bounds, /out of reach/],
  ['a half-width out of reach for "approximate"', { ...approximate, halfWidth: 1e-6 }, bounds, /stop\.halfWidth: .*out of reach/],
  ['one episode', { ...fixed, episodes: 1 }, bounds, /stop\.episodes/],
  ['a tightest point before the first interval', { ...asymptotic, tightestAt: 63 }, bounds, /stop\.tightestAt: .*from 64 on, got 63/],
  ['a tightest point that is no number of episodes', { ...asymptotic, tightestAt: 99.5 }, undefined, /stop\.tightestAt/],
  ['bounds in the wrong order', fixed, { low: 1, high: 0 }, /reward\.bounds/],
  ['infinite bounds', fixed, { low: 0, high: Infinity }, /reward\.bounds/],
])('%s is refused with the field and the remedy', (_name, stop, declared, message) => {
  expect(() => createStoppingRule(stop, declared)).toThrow(InputError);
  expect(() => createStoppingRule(stop, declared)).toThrow(message);
});

test.each([fixed, certified, approximate, asymptotic])('$rule refuses a confidence of 0.5, of 1, and one that is not a number', (stop) => {
  for (const confidence of [0.5, 0, -1, 1, 95, Number.NaN]) {
    expect(() => createStoppingRule({ ...stop, confidence }, bounds)).toThrow(InputError);
    expect(() => createStoppingRule({ ...stop, confidence }, bounds)).toThrow(
      /stop\.confidence: expected a number above 0\.5 and at most 0\.9999999999999998, got/,
    );
  }
});

test.each([certified, approximate, asymptotic])('$rule refuses a half-width that is not a positive number', (stop) => {
  for (const halfWidth of [0, -1, Infinity, Number.NaN])
    expect(() => createStoppingRule({ ...stop, halfWidth }, bounds)).toThrow(/stop\.halfWidth: expected a positive number/);
});
