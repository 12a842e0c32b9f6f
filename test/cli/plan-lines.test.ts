import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatPlanLines } from '../../src/cli/lines/plan-lines.ts';
import type { EvaluationPlan, PlanForecast } from '../../src/orchestrator/planning/evaluation-plan.ts';

const SUITE = `sha256:${'b'.repeat(64)}`;

const same = (value: number): PlanForecast['episodes'] => ({ low: value, median: value, high: value });

const FORECAST: PlanForecast = {
  stop: { rule: 'certified', halfWidth: 10, confidence: 0.95 },
  halfWidth: 10,
  episodes: { low: 1050, median: 1210, high: 1400 },
  shareCut: 0,
  shareGivenUp: 0,
  simulation: { runs: 200, episodes: 242_000, halfWidth: 10 },
  sandboxSeconds: { low: 105, median: 121, high: 140 },
  seconds: { low: 13.125, median: 15.125, high: 17.5 },
  cost: { low: 0.105, median: 0.121, high: 0.14 },
};

const PLAN: EvaluationPlan = {
  schema: 'muster.plan/1',
  suite: { name: 'cartpole', digest: SUITE },
  budget: { episodes: 20_000, seconds: null, cost: null },
  baseline: { file: 'first/summary.json', checkpoint: `sha256:${'a'.repeat(64)}` },
  returns: { from: 'episodes', observed: 300, mean: 489.12, standardDeviation: 33.4 },
  sandboxes: 8,
  episodeSeconds: 0.1,
  costPerSandboxHour: 3.6,
  leastEpisodes: 179,
  forecast: FORECAST,
  others: [
    {
      ...FORECAST,
      stop: { rule: 'approximate', halfWidth: 10, confidence: 0.95 },
      episodes: { low: 741, median: 926, high: 926 },
      seconds: { low: 9.3, median: 11.6, high: 11.6 },
    },
    {
      ...FORECAST,
      stop: { rule: 'asymptotic', halfWidth: 10, confidence: 0.95, tightestAt: 500 },
      episodes: same(64_000),
      shareCut: 0.4,
      shareGivenUp: 0.1,
      seconds: null,
    },
  ],
  knownVarianceEpisodes: 740,
  warnings: [],
};

const text = (plan: EvaluationPlan): string => formatPlanLines(plan).map(stripVTControlCharacters).join('\n');

describe('a plan for people', () => {
  it('shows the episodes, the time and the cost, then those of other rules, and the source of its estimates', () => {
    expect(text(PLAN)).toBe(
      `cartpole · certified ± 10 at 95 %
  episodes        1,210 (1,050 to 1,400)  median, and 5 % to 95 % of evaluations
  at least        179, if all returns were the same
  time            15 s (13 s to 18 s) on 8 sandboxes, without their start
  cost            0.121 (0.105 to 0.140)
  if approximate  926 (741 to 926) · 12 s
  if asymptotic   more than 64,000 · the budget ends 40 %
  if fixed        740, were the standard deviation known beforehand
  returns         drawn from the 300 episodes beside first/summary.json; mean 489, standard deviation 33
  simulated       200 evaluations, 242,000 episodes
  suite           ${SUITE}`,
    );
  });

  it('says how to get a time if there is no baseline', () => {
    const forecast = { ...FORECAST, sandboxSeconds: null, seconds: null, cost: null };
    const returns = { from: 'bounds' as const, observed: null, mean: 250, standardDeviation: 250 };
    const lines = text({ ...PLAN, baseline: null, returns, forecast, others: [], warnings: ['Mind the worst case.'] });
    expect(lines).toMatch(/time +unknown: give an earlier evaluation as --baseline/);
    expect(lines).toMatch(/returns +the worst case, half of them on each bound; mean 250, standard deviation 250/);
    expect(lines).not.toContain('cost');
    expect(lines).toMatch(/ {2}! Mind the worst case\.$/);
  });

  it('of a fixed number of episodes has exact figures', () => {
    const forecast: PlanForecast = {
      ...FORECAST,
      stop: { rule: 'fixed', episodes: 500, confidence: 0.9 },
      halfWidth: 2.456,
      episodes: same(500),
      simulation: null,
      seconds: same(6.25),
    };
    const lines = text({ ...PLAN, forecast, others: [], knownVarianceEpisodes: null, sandboxes: 1 });
    expect(lines).toMatch(/^cartpole · fixed number of episodes, about ± 2\.5 at 90 %\n {2}episodes +500\n {2}time +6\.3 s on 1 sandbox,/);
    expect(lines).not.toMatch(/simulated|at least/);
  });
});
