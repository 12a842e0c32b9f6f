import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ApproximateRule } from '../../src/aggregation/stopping/approximate-rule.ts';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import { computeAdjustedInterval } from '../../src/aggregation/intervals/intervals.ts';
import { Moments } from '../../src/aggregation/intervals/moments.ts';
import type { Score } from '../../src/aggregation/stopping/stopping-rule.ts';
import { seededRandom } from './seeded-random.ts';

const bounds: Bounds = { low: 0, high: 10 };
const missing: Score = bounds;
const LOOKS = [64, 80, 100, 125, 157, 197, 247, 309, 387, 484, 605, 757, 947];

const known = (value: number): Score => ({ low: value, high: value });

function adjusted(values: readonly number[], confidence = 0.95): { low: number; high: number } {
  const moments = new Moments();
  for (const value of values) moments.add(value);
  const interval = computeAdjustedInterval(moments, bounds, confidence);
  if (interval === undefined) throw new Error('expected an interval');
  return { low: interval.low, high: interval.high };
}

function folded(scores: Iterable<Score>, halfWidth = 0.5): ApproximateRule {
  const rule = new ApproximateRule(halfWidth, 0.95, bounds);
  for (const score of scores) rule.fold(score);
  return rule;
}

test('looks at 64, 80, 100, 125, … episodes and at no other, however narrow the interval', () => {
  const rule = new ApproximateRule(4, 0.95, bounds);
  const satisfiedAt: number[] = [];
  for (let episodes = 1; episodes <= 1000; episodes += 1) {
    rule.fold(known(5));
    if (rule.isSatisfied()) satisfiedAt.push(episodes);
    expect(rule.estimateRemaining()).toBe((LOOKS.find((look) => look >= episodes) ?? 1184) - episodes);
  }
  expect(satisfiedAt).toEqual(LOOKS);
});

test('the adjusted interval is available at any time', () => {
  const values = [3, 1, 4, 1, 5, 9, 2, 6];
  expect(folded(values.map(known)).computeInterval()).toMatchObject({
    ...adjusted(values),
    method: 'approximate',
    confidence: 0.95,
    guarantee: expect.stringContaining('not by proof'),
  });
  expect(folded([known(3)]).computeInterval()).toBeUndefined();
});

test('a policy that always wins also has the adjusted interval', () => {
  const wins = Array<number>(125).fill(10);
  const rule = folded(wins.map(known), 0.2);
  expect(rule.computeInterval()).toMatchObject({ ...adjusted(wins), method: 'approximate' });
  expect(rule.isSatisfied()).toBe(true);
});

test('stops at the first look at which the interval is narrow enough', () => {
  const random = seededRandom(8);
  for (let run = 0; run < 50; run += 1) {
    const values: number[] = [];
    const rule = new ApproximateRule(0.5, 0.95, bounds);
    while (!rule.isSatisfied()) {
      values.push(random() < 0.9 ? 10 : 0);
      rule.fold(known(values.at(-1) ?? 0));
    }
    const wide = LOOKS.filter((look) => look < values.length).map((look) => adjusted(values.slice(0, look)));
    for (const { low, high } of wide) expect((high - low) / 2).toBeGreaterThan(0.5);
    const { low, high } = adjusted(values);
    expect((high - low) / 2).toBeLessThanOrEqual(0.5);
    expect(LOOKS).toContain(values.length);
    expect(rule.estimateRemaining()).toBe(0);
  }
});

test('unresolved episodes count at their lowest for the low end and at their highest for the high end', () => {
  const values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8];
  const interval = folded([...values.map(known), missing]).computeInterval();
  expect(interval?.low).toBe(adjusted([...values, 0]).low);
  expect(interval?.high).toBe(adjusted([...values, 10]).high);
});

test('the estimate ends at a look, and comes true on average', () => {
  for (const [p, every] of [
    [0.5, Infinity],
    [0.9, Infinity],
    [0.98, Infinity],
    [0.9, 40],
  ] as const) {
    let [estimated, needed] = [0, 0];
    for (let seed = 0; seed < 40; seed += 1) {
      const random = seededRandom(seed);
      const rule = new ApproximateRule(0.3, 0.95, bounds);
      let episodes = 0;
      while (!rule.isSatisfied()) {
        episodes += 1;
        rule.fold(episodes < 90 && episodes % every === 0 ? missing : known(random() < p ? 10 : 0));
        if (episodes === 90) estimated += rule.estimateRemaining();
      }
      needed += episodes - 90;
    }
    expect(estimated / needed).toBeGreaterThan(0.7);
    expect(estimated / needed).toBeLessThan(1.4);
  }
});

test('the estimate is a whole number whatever the bounds are', () => {
  const vast: Bounds = { low: -8e307, high: 8e307 };
  const scores = fc.array(
    fc.oneof(fc.constantFrom<Score>(vast, known(vast.low)), fc.double({ min: vast.low, max: vast.high, noNaN: true }).map(known)),
    {
      maxLength: 70,
    },
  );
  fc.assert(
    fc.property(scores, (seen) => {
      const rule = new ApproximateRule(1e300, 0.95, vast);
      for (const score of seen) rule.fold(score);
      expect(rule.estimateRemaining()).toSatisfy((remaining: number) => Number.isSafeInteger(remaining) && remaining >= 1);
    }),
  );
});

test('a half-width that no interval or every interval has is refused', () => {
  for (const halfWidth of [0, 5, Number.NaN]) expect(() => new ApproximateRule(halfWidth, 0.95, bounds)).toThrow(RangeError);
});
