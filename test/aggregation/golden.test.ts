import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AsymptoticSequence } from '../../src/aggregation/stopping/asymptotic-sequence.ts';
import { computeAcceleration, computeBcaEnds, computeBcaInterval } from '../../src/aggregation/resampling/bca.ts';
import { computeBiasReducedMean } from '../../src/aggregation/results/bias-reduced-mean.ts';
import { computeCertainty } from '../../src/aggregation/results/certainty.ts';
import { ConfidenceSequence } from '../../src/aggregation/stopping/certified.ts';
import { computeClusteredError } from '../../src/aggregation/intervals/clustered-error.ts';
import {
  computeBetaQuantile,
  computeNormalQuantile,
  computeStudentQuantile,
} from '../../src/aggregation/intervals/distribution-quantiles.ts';
import { computeInterquartileMean } from '../../src/aggregation/resampling/interquartile-mean.ts';
import {
  computeAdjustedInterval,
  computeClopperPearsonInterval,
  computeStudentInterval,
} from '../../src/aggregation/intervals/intervals.ts';
import { Moments } from '../../src/aggregation/intervals/moments.ts';
import { computeNormalProbability } from '../../src/aggregation/intervals/normal-probability.ts';
import { estimatePassPowerK, estimatePassAtK } from '../../src/aggregation/resampling/pass-at-k.ts';
import { computeProbabilityOfImprovement } from '../../src/aggregation/resampling/probability-of-improvement.ts';
import { computeDistributionFigures } from '../../src/aggregation/results/distribution-figures.ts';
import { ReturnDistribution } from '../../src/aggregation/results/return-distribution.ts';
import { SerialDependence } from '../../src/aggregation/folding/serial-dependence.ts';
import { TaskResults } from '../../src/aggregation/results/task-results.ts';

// Written by scripts/golden/golden_values.py from SciPy, statsmodels and the published formulas.
const number = z.number();
const values = z.array(number);
const ends = { confidence: number, low: number, high: number };
const proportion = z.array(z.object({ successes: number, trials: number, ...ends }));
const pairs = z.array(z.object({ candidate: values, baseline: values }));
const golden = z
  .object({
    moments: z.array(z.object({ values, mean: number, variance: number, cubes: number })),
    normal: z.array(z.object({ p: number, quantile: number })),
    normalProbability: z.array(z.object({ z: number, probability: number })),
    student: z.array(z.object({ p: number, degreesOfFreedom: number, quantile: number })),
    beta: z.array(z.object({ p: number, alpha: number, beta: number, quantile: number })),
    clopperPearson: proportion,
    studentInterval: z.array(z.object({ values, ...ends })),
    adjusted: z.array(z.object({ values, bounds: z.object({ low: number, high: number }), ...ends })),
    quantiles: z.array(z.object({ values, quantiles: z.tuple([number, number, number, number, number]) })),
    interquartileMean: z.array(z.object({ tasks: z.array(values), value: number })),
    interquartileMeanBootstrap: z.object({ tasks: z.array(values), standardError: number, ...ends }),
    probabilityOfImprovement: z.array(z.object({ tasks: pairs, value: number })),
    probabilityOfImprovementBootstrap: z.object({ tasks: pairs, standardError: number, ...ends }),
    passAtK: z.array(z.object({ count: number, successes: number, k: number, anyOf: number, allOf: number })),
    clusteredError: z.array(z.object({ tasks: z.array(values), mean: number, standardError: number, ...ends })),
    bca: z.object({
      values,
      confidence: number,
      given: z.object({ replicates: values, low: number, high: number }),
      endToEnd: z.object({ standardError: number, low: number, high: number }),
    }),
    knownVarianceEpisodes: z.array(z.object({ deviation: number, halfWidth: number, confidence: number, episodes: number })),
    asymptotic: z.array(
      z.object({ tightestAt: number, confidence: number, episodes: number, deviation: number, rhoSquared: number, halfWidth: number }),
    ),
    certified: z.array(z.object({ episodes: number, confidence: number, halfWidth: number, grid: number, first: number, last: number })),
    biasReducedMean: z.array(z.object({ values, halfWidth: number, confidence: number, price: number, value: number })),
    lagOne: z.array(z.object({ tasks: z.array(values), correlation: number })),
  })
  .parse(JSON.parse(readFileSync(new URL('golden/golden.json', import.meta.url), 'utf8')));

/** Ends of two bootstraps with some 2,000 and 20,000 replicates differ by less than this share of a standard error; they do by 8 % typically. */
const MONTE_CARLO = 0.25;

const TOLERANCE = 1e-9;
const EXACT = 1e-12;

/** NaN when there is no figure, which is below no tolerance. */
function error(found: number | null | undefined, reference: number): number {
  return Math.abs((found ?? Number.NaN) - reference);
}

/** Of the end that is off by more. */
function endsError(found: { low: number; high: number } | null | undefined, reference: { low: number; high: number }): number {
  return Math.max(error(found?.low, reference.low), error(found?.high, reference.high));
}

function momentsOf(values: readonly number[]): Moments {
  const moments = new Moments();
  for (const value of values) moments.add(value);
  return moments;
}

test('moments, also of values that are large beside their spread', () => {
  for (const { values, mean, variance, cubes } of golden.moments) {
    expect(error(momentsOf(values).mean, mean)).toBeLessThanOrEqual(1e-15 * Math.abs(mean));
    // The values themselves have only so many digits.
    expect(error(momentsOf(values).variance, variance)).toBeLessThanOrEqual(1e-12 * Math.max(...values, 1e3));
    expect(error(momentsOf(values).sumOfCubes, cubes)).toBeLessThanOrEqual(1e-12 * Math.max(...values, 1e3) * Math.max(1, Math.abs(cubes)));
  }
});

test('quantiles of the normal, Student and beta distributions', () => {
  for (const { p, quantile } of golden.normal) expect(error(computeNormalQuantile(p), quantile)).toBeLessThanOrEqual(TOLERANCE);
  for (const { p, degreesOfFreedom, quantile } of golden.student)
    expect(error(computeStudentQuantile(p, degreesOfFreedom), quantile)).toBeLessThanOrEqual(TOLERANCE);
  for (const { p, alpha, beta, quantile } of golden.beta)
    expect(error(computeBetaQuantile(p, alpha, beta), quantile)).toBeLessThanOrEqual(TOLERANCE);
});

test('probabilities of the normal distribution', () => {
  for (const { z, probability } of golden.normalProbability)
    expect(error(computeNormalProbability(z), probability)).toBeLessThanOrEqual(1e-15);
});

test('Clopper–Pearson intervals', () => {
  for (const { confidence, ...given } of golden.clopperPearson)
    expect(endsError(computeClopperPearsonInterval(given, confidence), given)).toBeLessThanOrEqual(TOLERANCE);
});

test('t and adjusted intervals', () => {
  for (const { values, confidence, ...given } of golden.studentInterval)
    expect(endsError(computeStudentInterval(momentsOf(values), confidence), given)).toBeLessThanOrEqual(TOLERANCE);
  for (const { values, bounds, confidence, ...given } of golden.adjusted)
    expect(endsError(computeAdjustedInterval(momentsOf(values), bounds, confidence), given)).toBeLessThanOrEqual(TOLERANCE);
});

test('quantiles of returns', () => {
  for (const given of golden.quantiles) {
    const distribution = new ReturnDistribution();
    for (const value of given.values) distribution.add(value, 0);
    const [p05, p25, p50, p75, p95] = given.quantiles.map((quantile): unknown => expect.closeTo(quantile, 9));
    expect(computeDistributionFigures(distribution.buildQuestion(0.95, false)).quantiles).toEqual({
      of: given.values.length,
      p05,
      p25,
      p50,
      p75,
      p95,
    });
  }
});

test('the interquartile mean, to 1e-12; its bootstrap, as near as chance allows', () => {
  for (const { tasks, value } of golden.interquartileMean)
    expect(error(computeInterquartileMean(tasks, 0.95)?.value, value)).toBeLessThanOrEqual(EXACT);
  const { tasks, confidence, standardError, ...reference } = golden.interquartileMeanBootstrap;
  expect(endsError(computeInterquartileMean(tasks, confidence)?.interval, reference)).toBeLessThanOrEqual(MONTE_CARLO * standardError);
});

test('the probability of improvement, to 1e-12; its bootstrap, as near as chance allows', () => {
  for (const { tasks, value } of golden.probabilityOfImprovement)
    expect(error(computeProbabilityOfImprovement(tasks, 0.95, 0)?.value, value)).toBeLessThanOrEqual(EXACT);
  const { tasks, confidence, standardError, ...reference } = golden.probabilityOfImprovementBootstrap;
  for (const seed of [0, 1, 2])
    expect(endsError(computeProbabilityOfImprovement(tasks, confidence, seed), reference)).toBeLessThanOrEqual(MONTE_CARLO * standardError);
});

test('pass@k and pass^k', () => {
  for (const { k, anyOf: any, allOf: all, ...attempts } of golden.passAtK) {
    expect(error(estimatePassAtK(attempts, k), any)).toBeLessThanOrEqual(EXACT);
    expect(error(estimatePassPowerK(attempts, k), all)).toBeLessThanOrEqual(EXACT);
  }
});

test('the clustered standard error is that of a regression on a constant with groups, and so is the interval', () => {
  for (const { tasks, confidence, mean, standardError, ...reference } of golden.clusteredError) {
    const results = new TaskResults(
      tasks.map((_, task) => ({ name: `task ${task}`, weight: 1 })),
      undefined,
    );
    for (const [task, values] of tasks.entries()) for (const value of values) results.add(task, { low: value, high: value });
    const population = results.estimateTaskPopulation(mean, confidence);
    expect(error(population?.standardError, standardError)).toBeLessThanOrEqual(TOLERANCE);
    expect(endsError(population?.interval, reference)).toBeLessThanOrEqual(TOLERANCE);
    expect(
      error(
        computeClusteredError(tasks.map((values) => ({ count: values.length, mean: momentsOf(values).mean ?? Number.NaN }))),
        standardError,
      ),
    ).toBeLessThanOrEqual(TOLERANCE);
  }
});

test('the BCa interval: its formula on given replicates, and as a whole as near as chance allows', () => {
  const { values, confidence, given, endToEnd } = golden.bca;
  const mean = momentsOf(values).mean ?? Number.NaN;
  const deviations = values.map((value) => value - mean);
  expect(endsError(computeBcaEnds(mean, computeAcceleration(deviations), given.replicates, confidence), given)).toBeLessThanOrEqual(
    TOLERANCE,
  );
  const sorted = values.toSorted((a, b) => a - b);
  expect(endsError(computeBcaInterval(sorted, confidence), endToEnd)).toBeLessThanOrEqual(MONTE_CARLO * endToEnd.standardError);
});

test('episodes that a known variance would have needed', () => {
  for (const { deviation, halfWidth, confidence, episodes } of golden.knownVarianceEpisodes) {
    expect(computeCertainty(1000, deviation, halfWidth, confidence)).toEqual({
      knownVarianceEpisodes: episodes,
      extraEpisodes: 1000 - episodes,
    });
  }
});

test('the asymptotic confidence sequence', () => {
  for (const { tightestAt, confidence, episodes, deviation, rhoSquared, halfWidth } of golden.asymptotic) {
    const sequence = new AsymptoticSequence({ tightestAt, confidence });
    expect(error(sequence.rhoSquared, rhoSquared)).toBeLessThanOrEqual(TOLERANCE);
    expect(error(deviation * sequence.computeRelativeHalfWidth(episodes), halfWidth)).toBeLessThanOrEqual(TOLERANCE);
  }
});

test('the certified confidence sequence keeps exactly the same grid points as one that follows the definition', () => {
  for (const { episodes, confidence, halfWidth, grid, first, last } of golden.certified) {
    const sequence = new ConfidenceSequence({ halfWidth, confidence, grid });
    for (let index = 1; index <= episodes; index += 1) {
      const value = (0.6180339887498949 * index) % 1 < 0.8 ? 1 : 0;
      sequence.fold(value, value);
    }
    expect([sequence.low, sequence.high]).toEqual([Math.max(0, (first - 1) / grid), Math.min(1, (last + 1) / grid)]);
  }
});

test('the mean at a stop, less its bias', () => {
  for (const { values, halfWidth, confidence, price, value } of golden.biasReducedMean) {
    const rule = { targetHalfWidth: halfWidth, priceOfSpread: price, confidence };
    expect(error(computeBiasReducedMean(momentsOf(values), rule), value)).toBeLessThanOrEqual(TOLERANCE);
  }
});

test('correlation of neighbouring returns, less its average over all orders', () => {
  for (const { tasks, correlation } of golden.lagOne) {
    const dependence = new SerialDependence();
    for (const [task, returns] of tasks.entries()) for (const value of returns) dependence.add(task, value);
    expect(error(dependence.correlation, correlation)).toBeLessThanOrEqual(EXACT);
  }
});

test('the specified figures', () => {
  expect(
    endsError(computeClopperPearsonInterval({ successes: 18, trials: 20 }, 0.95), { low: 0.683017286, high: 0.9876514728 }),
  ).toBeLessThanOrEqual(TOLERANCE);
  expect(error(computeStudentQuantile(0.975, 7), 2.3646242516)).toBeLessThanOrEqual(TOLERANCE);
  const sequence = new AsymptoticSequence({ tightestAt: 500, confidence: 0.95 });
  expect(error(sequence.rhoSquared, 0.0158665939)).toBeLessThanOrEqual(TOLERANCE);
  expect(error(sequence.computeRelativeHalfWidth(500), 0.1357387551)).toBeLessThanOrEqual(TOLERANCE);
});
