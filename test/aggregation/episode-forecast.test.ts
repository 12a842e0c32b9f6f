import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SequentialStop } from '../../src/aggregation/forecast/affordable-simulation.ts';
import { EpisodeSimulation, type EpisodeForecast } from '../../src/aggregation/forecast/episode-forecast.ts';
import { computeLeastEpisodes } from '../../src/aggregation/stopping/reach.ts';
import { resampleReturns, createTwoValuedReturns, type SimulatedReturns } from '../../src/aggregation/forecast/simulated-returns.ts';

const UNIT = { low: 0, high: 1 };
const PRECISE = { halfWidth: 0.05, confidence: 0.95 };
const RULES = {
  certified: { rule: 'certified', ...PRECISE },
  approximate: { rule: 'approximate', ...PRECISE },
  asymptotic: { rule: 'asymptotic', ...PRECISE, tightestAt: 500 },
} as const;

const successes = (share: number): SimulatedReturns => createTwoValuedReturns(0, 1, share);

function forecast(stop: SequentialStop, returns: SimulatedReturns, budgetEpisodes?: number): EpisodeForecast {
  const simulation = new EpisodeSimulation({ stop, bounds: UNIT, returns, budgetEpisodes });
  while (!simulation.isDone) simulation.run();
  return simulation.forecast();
}

/** Of a normal interval with known variance. */
const known = (variance: number, halfWidth: number): number => (1.959963984540054 ** 2 * variance) / halfWidth ** 2;

describe('a forecast of how many episodes a stopping rule takes', () => {
  it.each([
    { rule: 'certified', share: 0.9, halfWidth: 0.05, cost: 1.66, tolerance: 0.08 },
    { rule: 'certified', share: 0.5, halfWidth: 0.05, cost: 1.58, tolerance: 0.08 },
    { rule: 'certified', share: 0.98, halfWidth: 0.02, cost: 1.8, tolerance: 0.1 },
    { rule: 'approximate', share: 0.9, halfWidth: 0.05, cost: 1.19, tolerance: 0.08 },
    { rule: 'asymptotic', share: 0.9, halfWidth: 0.05, cost: 2.48, tolerance: 0.1 },
  ] as const)('is $cost times the known-variance number for $rule, success in $share to ±$halfWidth', (fixture) => {
    const { simulation } = forecast({ ...RULES[fixture.rule], halfWidth: fixture.halfWidth }, successes(fixture.share));
    const mean = simulation.episodes / simulation.runs;
    expect(Math.abs(mean / known(fixture.share * (1 - fixture.share), fixture.halfWidth) - fixture.cost)).toBeLessThan(fixture.tolerance);
  });

  it('has the median between the 5 % and the 95 % quantile, and is not below what the rule takes at least', () => {
    const share = fc.double({ min: 0.05, max: 0.95, noNaN: true });
    const halfWidth = fc.double({ min: 0.1, max: 0.4, noNaN: true });
    fc.assert(
      fc.property(share, halfWidth, fc.constantFrom(...Object.values(RULES)), (share, halfWidth, rule) => {
        const { episodes, simulation } = forecast({ ...rule, halfWidth }, successes(share));
        expect(episodes.low).toBeLessThanOrEqual(episodes.median);
        expect(episodes.median).toBeLessThanOrEqual(episodes.high);
        expect(Object.values(episodes).every(Number.isSafeInteger)).toBe(true);
        expect(simulation).toMatchObject({ runs: 200, halfWidth });
        expect(episodes.median).toBeGreaterThanOrEqual(computeLeastEpisodes({ ...rule, halfWidth }, UNIT));
      }),
      { numRuns: 20 },
    );
  });

  it('is the same every time', () => {
    expect(forecast(RULES.certified, successes(0.7))).toEqual(forecast(RULES.certified, successes(0.7)));
  });

  it('stays within the looks of a rule that looks now and then', () => {
    const looks = new Set([64, 80, 100, 125, 157, 197, 247]);
    const { low, median, high } = forecast(RULES.approximate, successes(0.9)).episodes;
    expect([low, median, high].every((episodes) => looks.has(episodes))).toBe(true);
  });

  it('is wider when it rests on few recorded returns', () => {
    const scores = Array.from({ length: 40 }, (_, index) => (index % 10 === 0 ? 0 : 1));
    const recorded = forecast(RULES.certified, resampleReturns([{ weight: 1, scores }])).episodes;
    const assumed = forecast(RULES.certified, successes(0.9)).episodes;
    expect(recorded.low).toBeLessThan(assumed.low);
    expect(recorded.high).toBeGreaterThan(assumed.high);
  });
});

describe('a budget of episodes', () => {
  it('cuts evaluations that would take longer, and reports their share', () => {
    const free = forecast(RULES.certified, successes(0.9));
    expect(free).toMatchObject({ shareCut: 0, shareGivenUp: 0 });
    const { median } = free.episodes;
    const cut = forecast(RULES.certified, successes(0.9), median);
    expect(cut.episodes).toEqual({ low: free.episodes.low, median, high: median });
    expect(Math.abs(cut.shareCut - 0.5)).toBeLessThan(0.03);
  });

  it('that is spent by the last needed episode cuts nothing', () => {
    const { median: always } = forecast(RULES.certified, createTwoValuedReturns(1, 1, 1)).episodes;
    expect(forecast(RULES.certified, createTwoValuedReturns(1, 1, 1), always).shareCut).toBe(0);
    expect(forecast(RULES.certified, createTwoValuedReturns(1, 1, 1), always - 1)).toMatchObject({
      shareCut: 1,
      episodes: { high: always - 1 },
    });
  });
});

describe('a half-width that takes more episodes than can be simulated', () => {
  it.each([
    { rule: 'certified', halfWidth: 0.002, cost: 1.58 },
    { rule: 'approximate', halfWidth: 0.001, cost: 1.25 },
    { rule: 'asymptotic', halfWidth: 0.001, cost: 4.46 },
  ] as const)('is extrapolated from a wider one: $rule, success in half to ±$halfWidth', ({ rule, halfWidth, cost }) => {
    const { episodes, simulation } = forecast({ ...RULES[rule], halfWidth }, successes(0.5));
    expect(simulation.halfWidth).toBeGreaterThan(halfWidth);
    expect(simulation.episodes).toBeLessThan(5_000_000);
    expect(Math.abs(episodes.median / known(0.25, halfWidth) / cost - 1)).toBeLessThan(0.06);
  });

  it('is extrapolated in proportion to 1/h where the limit on the bets decides, as with returns that hardly vary', () => {
    const { episodes, simulation } = forecast({ ...RULES.certified, halfWidth: 0.0001 }, createTwoValuedReturns(1, 1, 1));
    expect(simulation.halfWidth).toBeGreaterThan(0.0001);
    // From a direct simulation.
    expect(Math.abs(episodes.median / 21_854 - 1)).toBeLessThan(0.03);
  });
});

describe('a rule that is never satisfied', () => {
  it('is given up and reported', () => {
    const constant = resampleReturns([{ weight: 1, scores: [1, 1, 1] }]);
    const { shareGivenUp, shareCut, episodes } = forecast(RULES.asymptotic, constant);
    expect({ shareGivenUp, shareCut }).toEqual({ shareGivenUp: 1, shareCut: 0 });
    expect(episodes.low).toBeGreaterThan(1000);
  });

  it('still ends at a budget', () => {
    const constant = resampleReturns([{ weight: 1, scores: [1, 1, 1] }]);
    expect(forecast(RULES.asymptotic, constant, 500)).toMatchObject({ shareCut: 1, shareGivenUp: 0, episodes: { median: 500 } });
  });
});

it('refuses a half-width that the rule refuses', () => {
  const stop = { ...RULES.certified, halfWidth: 0.5 };
  expect(() => new EpisodeSimulation({ stop, bounds: UNIT, returns: successes(0.5), budgetEpisodes: undefined })).toThrow('stop.halfWidth');
});
