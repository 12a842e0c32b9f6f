import { expect, test } from 'vitest';
import { planComparisonTerms } from '../../src/aggregation/comparison/comparison-terms.ts';
import { LARGEST_CONFIDENCE } from '../../src/aggregation/intervals/confidence.ts';
import { officialComparisonSchema } from '../../src/aggregation/comparison/comparison-statistics.ts';
import { PairedFold } from '../../src/aggregation/comparison/paired-fold.ts';
import { PrefixFold } from '../../src/aggregation/prefix-fold.ts';
import { officialStatisticsSchema } from '../../src/aggregation/results/statistics.ts';
import type { Stop } from '../../src/aggregation/stopping/stopping-rule.ts';
import { createStoppingRule } from '../../src/aggregation/stopping/stopping.ts';
import { stoppingSchema } from '../../src/orchestrator/suite/suite.ts';
import { newComparisonSchema } from '../../src/faces/http/schemas/evaluation-schemas.ts';

/** The next number after a confidence, and of those below it some that are as hard for quantiles. */
const EXTREME = [LARGEST_CONFIDENCE, 1 - 2 ** -51, 1 - 1e-15, 1 - 1e-12, 1 - 1e-6, 0.75, 0.5 + 1e-9, 0.5 + 2 ** -52, 0.5 + 2 ** -53];
const TOO_LARGE = 1 - 2 ** -53;
const bounds = { low: 0, high: 10 };
const tasks = [
  { name: 'easy', weight: 1 },
  { name: 'hard', weight: 3 },
];
const failureScores = { timeout: 0, crash: 0 };

const rules = (confidence: number): readonly Stop[] => [
  { rule: 'fixed', episodes: 200, confidence },
  { rule: 'certified', halfWidth: 0.5, confidence },
  { rule: 'approximate', halfWidth: 0.5, confidence },
  { rule: 'asymptotic', halfWidth: 0.5, confidence, tightestAt: 500 },
];

/** Returns that vary, all the same, or the two bounds alone: other intervals are worked out for each. */
const COURSES: Readonly<Record<string, (index: number) => number>> = {
  varied: (index) => (index * 7) % 11,
  equal: () => 4,
  'won or lost': (index) => (index % 3 === 0 ? 10 : 0),
};

test.each(EXTREME)('with confidence %d each rule gives all its figures, however the returns are spread', (confidence) => {
  for (const stop of rules(confidence)) {
    for (const returned of Object.values(COURSES)) {
      for (const declared of stop.rule === 'fixed' || stop.rule === 'asymptotic' ? [bounds, undefined] : [bounds]) {
        const success = { threshold: 5, k: [1, 2] };
        const rule = createStoppingRule(stoppingSchema.parse(stop), declared);
        const fold = new PrefixFold({
          bounds: declared,
          failureScores,
          tasks,
          metrics: [],
          success,
          rule,
          windowSize: 300,
          budgetEpisodes: 200,
        });
        for (let index = 0; index < 200; index += 1)
          fold.offer(index, index % 2, { kind: 'completed', return: Math.min(10, returned(index)), length: 1, metrics: {} });
        expect(officialStatisticsSchema.parse(fold.computeOfficial())).toMatchObject({ episodes: expect.any(Number) });
      }
    }
  }
});

test('a confidence that cannot be distinguished from 1 is refused before anything is played, and the largest one is named', () => {
  const largest = 'at most 0.9999999999999998';
  for (const confidence of [TOO_LARGE, 1, 2, Infinity, 0.5, 0, -1, Number.NaN]) {
    for (const stop of rules(confidence)) {
      expect(stoppingSchema.safeParse(stop).success).toBe(false);
      expect(() => createStoppingRule(stop, bounds)).toThrow(expect.objectContaining({ kind: 'input', code: 'stop.invalid' }));
      expect(() => createStoppingRule(stop, bounds)).toThrow(largest);
    }
    expect(() => terms(confidence, 1)).toThrow(expect.objectContaining({ kind: 'input', code: 'comparison.invalid' }));
  }
  expect(stoppingSchema.safeParse(rules(TOO_LARGE)[0]).error?.message).toContain(largest);
  expect(stoppingSchema.safeParse(rules(95)[0]).error?.message).toContain('such as 0.95 for 95 %');
  const comparison = { suite: 'x', baseline: 'a', candidates: ['b'], confidence: TOO_LARGE };
  expect(newComparisonSchema.safeParse(comparison).error?.message).toContain(largest);
});

test('each of several comparisons gets its share of the risk, and an invalid share is refused', () => {
  for (const candidates of [1, 2, 3, 64]) {
    const largest = 1 - candidates * 2 ** -52;
    for (const margin of [0, 1]) expect(terms(largest, candidates, margin).intervalConfidence).toBeLessThan(1);
    expect(() => terms(largest + 2 ** -53, candidates)).toThrow(`at most ${largest}`);
  }
});

test.each(EXTREME.filter((confidence) => confidence <= 1 - 2 * 2 ** -52))(
  'a comparison with confidence %d gives all its figures',
  (confidence) => {
    for (const margin of [0, 1]) {
      const fold = new PairedFold({
        bounds,
        failureScores,
        confidence,
        margin,
        candidates: ['a', 'b'],
        tasks: 1,
        windowSize: 300,
        budgetEpisodes: 600,
        seed: 1,
      });
      for (let index = 0; index < 200; index += 1)
        for (const arm of [0, 1, 2])
          fold.offer(arm, index, 0, {
            kind: 'completed',
            return: arm === 1 ? 10 : (COURSES['varied']?.(index + arm) ?? 0),
            length: 1,
            metrics: {},
          });
      expect(officialComparisonSchema.parse(fold.computeOfficial())).toMatchObject({ confidence });
    }
  },
);

function terms(confidence: number, candidates: number, margin = 0): ReturnType<typeof planComparisonTerms> {
  return planComparisonTerms({ bounds, failureScores, confidence, margin, candidates });
}
