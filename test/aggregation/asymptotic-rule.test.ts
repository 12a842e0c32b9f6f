import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { AsymptoticRule } from '../../src/aggregation/stopping/asymptotic-rule.ts';
import { AsymptoticSequence } from '../../src/aggregation/stopping/asymptotic-sequence.ts';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import { computeHalfWidth } from '../../src/aggregation/intervals/intervals.ts';
import { Moments } from '../../src/aggregation/intervals/moments.ts';
import type { Score } from '../../src/aggregation/stopping/stopping-rule.ts';
import { seededRandom } from './seeded-random.ts';

const options = { halfWidth: 0.1, confidence: 0.95, tightestAt: 500 };
const bounds: Bounds = { low: 0, high: 1 };
const missing: Score = bounds;
const nothingKnown: Score = { low: -Infinity, high: Infinity };

const known = (value: number): Score => ({ low: value, high: value });

function folded(scores: Iterable<Score>, declared?: Bounds, halfWidth = options.halfWidth): AsymptoticRule {
  const rule = new AsymptoticRule({ ...options, halfWidth }, declared);
  for (const score of scores) rule.fold(score);
  return rule;
}

/** Lognormal returns: no bound from above. */
function lognormal(random: () => number, spread: number): number {
  return Math.exp(spread * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()));
}

const uniform = (seed: number, count: number): number[] => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random());
};

function endsOfSequence(values: readonly number[], declared?: Bounds): { low: number; high: number } {
  const moments = new Moments();
  for (const value of values) moments.add(value);
  const interval = new AsymptoticSequence(options).computeInterval(moments, declared);
  if (interval === undefined) throw new Error('expected an interval');
  return { low: interval.low, high: interval.high };
}

test('unbounded returns: stops at the first episode at which the interval is narrow enough', () => {
  const random = seededRandom(3);
  const rule = new AsymptoticRule(options, undefined);
  const values: number[] = [];
  while (!rule.isSatisfied()) {
    const interval = rule.computeInterval();
    expect(interval === undefined ? Infinity : computeHalfWidth(interval)).toBeGreaterThan(options.halfWidth);
    expect(rule.estimateRemaining()).toBeGreaterThanOrEqual(1);
    values.push(lognormal(random, 0.5));
    rule.fold(known(values.at(-1) ?? 0));
  }
  const interval = rule.computeInterval();
  expect(interval).toMatchObject({ method: 'asymptotic-sequence', confidence: 0.95, ...endsOfSequence(values) });
  expect([(interval?.low ?? 9) < Math.exp(0.125), (interval?.high ?? 0) > Math.exp(0.125)]).toEqual([true, true]);
  expect([rule.estimateRemaining(), rule.targetHalfWidth, rule.listWarnings()]).toEqual([0, options.halfWidth, []]);
});

const fewDistinct = fc.tuple(fc.nat(2 ** 31), fc.integer({ min: 1, max: 14 }), fc.double({ min: 0, max: 0.3, noNaN: true }));

test('an interval exists from exactly 64 episodes on, if 10 of them differ from the mode', () => {
  fc.assert(
    fc.property(fewDistinct, ([seed, distinct, share]) => {
      const random = seededRandom(seed);
      const rule = new AsymptoticRule(options, undefined);
      const times = new Map<number, number>();
      for (let episodes = 1; episodes <= 200; episodes += 1) {
        const value = random() < share ? Math.floor(random() * distinct) : 0;
        rule.fold(known(value));
        times.set(value, (times.get(value) ?? 0) + 1);
        const offMode = episodes - Math.max(...times.values());
        expect(rule.computeInterval() !== undefined).toBe(episodes >= 64 && offMode >= 10);
      }
    }),
  );
});

test('a policy that nearly always gets the same return is never called certain, and the result says why', () => {
  const rule = folded(
    Array.from({ length: 2000 }, (_, position) => known(position % 250 === 0 ? 7 : 500)),
    undefined,
    20,
  );
  expect([rule.computeInterval(), rule.isSatisfied()]).toEqual([undefined, false]);
  expect(rule.listWarnings()).toEqual([expect.stringContaining('10 differ from the most frequent return; of 2000, 8 did')]);
  expect(rule.estimateRemaining()).toBe(500);
});

test('returns that are all the same stay so however differently they count', () => {
  const counted = uniform(9, 200).map((value) => ({ low: value, high: value, returned: known(1) }));
  expect(folded(counted).computeInterval()).toBeUndefined();
});

test('unresolved episodes count at the bounds, and the interval holds the one of the resolved episodes alone', () => {
  const values = uniform(4, 200);
  const { low, high } = endsOfSequence(values, bounds);
  const rule = folded([...values.map(known), missing, missing], bounds);
  const interval = rule.computeInterval();
  expect(interval?.low).toBe(Math.min(low, endsOfSequence([...values, 0, 0], bounds).low));
  expect(interval?.high).toBe(Math.max(high, endsOfSequence([...values, 1, 1], bounds).high));
  expect(rule.listWarnings()).toEqual([]);
});

test('unresolved episodes count neither towards the 64 nor towards the 10', () => {
  const values = uniform(5, 64).map(known);
  expect(folded([...values.slice(1), missing, missing], bounds).computeInterval()).toBeUndefined();
  expect(folded([...values, missing], bounds).computeInterval()).toBeDefined();
  const nineOff = Array.from({ length: 100 }, (_, position) => known(position < 9 ? 0.5 : 1));
  expect(folded([...nineOff, missing, missing], bounds).computeInterval()).toBeUndefined();
});

test('where the return has bounds the interval stays within them', () => {
  const values = Array.from({ length: 64 }, (_, position) => (position < 10 ? 0.9 : 1));
  expect(folded(values.map(known), bounds).computeInterval()).toMatchObject({ low: endsOfSequence(values, bounds).low, high: 1 });
});

test('good returns, never quite the same, end an evaluation at once, but not where bounds say how bad one could have been', () => {
  const values = uniform(7, 1000).map((value) => 0.95 + value / 20);
  const stop = (declared: Bounds | undefined): { episodes: number; low: number } => {
    const rule = new AsymptoticRule({ ...options, halfWidth: 0.01 }, declared);
    let episodes = 0;
    for (; !rule.isSatisfied(); episodes += 1) rule.fold(known(values[episodes] ?? 0));
    return { episodes, low: rule.computeInterval()?.low ?? Number.NaN };
  };
  // One return in 100 could be a 0 and not have come up in 64, which happens half of the time, nor in 418.
  const mean = 0.99 * 0.975;
  const [without, within] = [stop(undefined), stop(bounds)];
  expect([without.episodes, without.low > mean]).toEqual([64, true]);
  expect([within.episodes, within.low < mean]).toEqual([418, true]);
});

test('without bounds one unresolved episode leaves no interval for good, and the rule says that it cannot be satisfied', () => {
  const values = uniform(6, 4000).map(known);
  expect(folded(values).isSatisfied()).toBe(true);
  const rule = folded([...values, nothingKnown]);
  expect([rule.computeInterval(), rule.isSatisfied()]).toEqual([undefined, false]);
  expect(rule.listWarnings()).toEqual([
    expect.stringMatching(/There is no interval: 1 of 4001 episodes are unresolved.*"asymptotic" cannot be satisfied/),
  ]);
  expect(rule.estimateRemaining()).toBe(Number.MAX_SAFE_INTEGER);
});

const played: readonly (readonly [returns: string, draw: (random: () => number) => number, halfWidth: number, lostEvery: number])[] = [
  ['uniform returns', (random) => random(), 0.04, Infinity],
  ['uniform returns, one in 50 lost', (random) => random(), 0.04, 50],
  ['good returns, never quite the same', (random) => 0.95 + random() / 20, 0.01, Infinity],
  ['the same, one in 10 lost', (random) => 0.95 + random() / 20, 0.06, 10],
];

test.each(played)('the estimate of what is still needed comes true on average: %s', (_returns, draw, halfWidth, lostEvery) => {
  let [estimated, needed] = [0, 0];
  for (let seed = 0; seed < 20; seed += 1) {
    const random = seededRandom(seed);
    const rule = new AsymptoticRule({ ...options, halfWidth }, bounds);
    let episodes = 0;
    while (!rule.isSatisfied()) {
      episodes += 1;
      rule.fold(episodes < 200 && episodes % lostEvery === 0 ? missing : known(draw(random)));
      if (episodes === 200) estimated += rule.estimateRemaining();
    }
    needed += episodes - 200;
  }
  expect(estimated / needed).toBeGreaterThan(0.8);
  expect(estimated / needed).toBeLessThan(1.25);
});

test('before the first interval, at least the episodes for it are needed', () => {
  const rule = new AsymptoticRule(options, undefined);
  for (let episodes = 0; episodes < 64; episodes += 1) {
    expect(rule.estimateRemaining()).toBeGreaterThanOrEqual(64 - episodes);
    rule.fold(known(episodes));
  }
});

test('the estimate is a whole number whatever came before', () => {
  const returns = fc.oneof(fc.constantFrom(0, 1, -1e300, 1e300), fc.double({ noNaN: true, noDefaultInfinity: true }));
  fc.assert(
    fc.property(fc.array(returns, { maxLength: 120 }), (values) => {
      const rule = new AsymptoticRule(options, undefined);
      for (const value of values) {
        rule.fold(known(value));
        expect(rule.estimateRemaining()).toSatisfy((remaining: number) => Number.isSafeInteger(remaining) && remaining >= 0);
        expect(rule.estimateRemaining() === 0).toBe(rule.isSatisfied());
      }
    }),
  );
});

test('a half-width that is not positive is refused', () => {
  for (const halfWidth of [0, -1, Number.NaN]) expect(() => new AsymptoticRule({ ...options, halfWidth }, undefined)).toThrow(RangeError);
});
