import { expect, test } from 'vitest';
import { NOTHING } from '../../../bench/coverage/measurement.ts';
import type { Measurement } from '../../../bench/coverage/measurement.ts';
import { hold, leastSuccesses } from '../../../bench/coverage/targets.ts';
import type { Target } from '../../../bench/coverage/scenario.ts';

const coverage: Target = { kind: 'share', figure: 'coverage', of: ['holds'], atLeast: 0.95 };
const cost: Target = { kind: 'episodes', figure: 'cost', unit: 10, atMost: 2 };
const knownCost: Target = { kind: 'known episodes', figure: 'known cost', unit: 10, about: 2, within: 0.08 };

function measurement(runs: number, holds: number): Measurement {
  return { ...NOTHING, runs, outcomes: { holds, below: runs - holds } };
}

/** Evaluations of which one half takes 5 episodes less than the mean, the other 5 more. */
function taking(mean: number, runs: number): Measurement {
  return { ...NOTHING, runs, episodes: runs * mean, squares: (runs / 2) * ((mean - 5) ** 2 + (mean + 5) ** 2) };
}

test('with 2,000 evaluations a share has to reach its target as it is', () => {
  expect(hold(measurement(2000, 1900), coverage)).toEqual({ met: true, measured: '95.00 %', target: 'at least 95.0 %' });
  expect(hold(measurement(2000, 1899), coverage)).toMatchObject({ met: false });
});

test('with fewer evaluations a share may be below its target by what chance does once in a thousand', () => {
  expect(hold(measurement(200, 179), coverage)).toMatchObject({ met: true, target: 'at least 95.0 % (179 of 200)' });
  expect(hold(measurement(200, 178), coverage)).toMatchObject({ met: false });
});

// scipy.stats.binom.ppf(0.001, n, p)
test.each([
  [200, 0.95, 179],
  [1500, 0.8, 1151],
  [100, 0.975, 92],
  [1999, 0.942, 1850],
])('of %i trials with probability %d at least %i succeed, but for once in a thousand', (runs, p, least) => {
  expect(leastSuccesses(runs, p)).toBe(least);
});

test('a mean number of episodes is compared with a multiple, less three standard errors with few evaluations', () => {
  expect(hold(taking(20, 2000), cost)).toEqual({ met: true, measured: '2.00 ×', target: 'at most 2 ×' });
  expect(hold(taking(20.01, 2000), cost)).toMatchObject({ met: false });
  expect(hold(taking(21.5, 100), cost)).toMatchObject({ met: true });
  expect(hold(taking(21.6, 100), cost)).toMatchObject({ met: false });
});

test('a known number of episodes is compared from both sides, with three standard errors for few evaluations', () => {
  expect(hold(taking(20.7, 2000), knownCost)).toEqual({ met: true, measured: '2.07 ×', target: '2 ± 0.08 ×' });
  for (const mean of [19.1, 20.9]) expect(hold(taking(mean, 2000), knownCost)).toMatchObject({ met: false });
  for (const mean of [18.5, 21.5]) expect(hold(taking(mean, 100), knownCost)).toMatchObject({ met: true, target: '2 ± 0.16 ×' });
  for (const mean of [18.4, 21.6]) expect(hold(taking(mean, 100), knownCost)).toMatchObject({ met: false });
});

test('a bias is compared with its target in deviations of the plain mean, in either direction', () => {
  const off = (thousandths: number, runs: number): Measurement => {
    const sums = { sum: 0, squares: runs * 1000 ** 2 };
    const reduced = { sum: runs * thousandths, squares: runs * (thousandths ** 2 + 1000 ** 2) };
    return { ...NOTHING, runs, estimated: runs, errors: { mean: sums, middle: sums, reduced } };
  };
  const bias: Target = { kind: 'bias', figure: 'bias', atMost: 0.12 };
  expect(hold(off(-120, 2000), bias)).toEqual({ met: true, measured: '-0.120', target: 'within ± 0.12' });
  expect([off(121, 2000), off(-121, 2000), off(130, 400), off(300, 400)].map((measured) => hold(measured, bias).met)).toEqual([
    false,
    false,
    true,
    false,
  ]);
});
