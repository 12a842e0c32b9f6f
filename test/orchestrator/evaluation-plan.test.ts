import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/kernel/outcome.ts';
import { planSchema, type EvaluationPlan } from '../../src/orchestrator/planning/evaluation-plan.ts';
import { planBaseline, type RecordedEvaluation } from '../../src/orchestrator/planning/plan-baseline.ts';
import { planEvaluation, type PlanRequest } from '../../src/orchestrator/planning/plan-evaluation.ts';
import {
  defineSuite,
  createEpisodePlanner,
  createInlineLayer,
  parseSuite,
  type SuiteDefinition,
} from '../../src/orchestrator/suite/suite-definition.ts';

const FOREVER = new AbortController().signal;
const CHECKPOINT = `sha256:${'c'.repeat(64)}`;

const PLAIN = {
  name: 'tosses',
  environment: 'gymnasium:CartPole-v1',
  reward: { bounds: [0, 1] },
  stop: { rule: 'certified', halfWidth: 0.05 },
};

const define = (changes: object = {}): SuiteDefinition => defineSuite(parseSuite(createInlineLayer({ ...PLAIN, ...changes })), undefined);

async function planOf(suite: SuiteDefinition, changes: Partial<PlanRequest> = {}): Promise<EvaluationPlan> {
  const plan = await planEvaluation({ suite, baseline: undefined, sandboxes: 4, costPerSandboxHour: undefined, ...changes }, FOREVER);
  expect(planSchema.parse(JSON.parse(JSON.stringify(plan)))).toEqual(plan);
  return plan;
}

const completed = (value: number): Outcome => ({ kind: 'completed', return: value, length: 1, metrics: {} });

/** As `--out` keeps it: one success less than in nine of ten episodes. */
function summaryOf(suite: SuiteDefinition, changes: object = {}, run: object = { episodeSeconds: { mean: 0.5 } }): object {
  const official = {
    suite: { name: suite.name, digest: suite.digest },
    checkpoint: { digest: CHECKPOINT },
    resolved: 200,
    mean: 0.9,
    variance: (0.09 * 200) / 199,
    min: 0,
    max: 1,
    histogram: { edges: [-0.5, 0.5, 1.5], counts: [20, 180] },
    ...changes,
  };
  return { schema: 'muster.summary/1', official, run };
}

function recorded(suite: SuiteDefinition, outcomes: readonly Outcome[]): RecordedEvaluation {
  const plan = createEpisodePlanner(suite);
  return {
    summaryFile: 'out/summary.json',
    summary: summaryOf(suite),
    episodesFile: 'out/episodes.ndjson',
    async *episodes() {
      for (const [position, outcome] of outcomes.entries()) {
        const { index, task, environmentSeed, policySeed } = plan(position);
        yield {
          line: position + 1,
          value: { index, task: suite.tasks[task]?.name, environmentSeed, policySeed, outcome, part: 'official' },
        };
      }
    },
  };
}

const inTen = (successes: number) => Array.from({ length: 200 }, (_, index) => completed(index % 10 < successes ? 1 : 0));

it('a plan takes a baseline that drew its own tasks, draws them by weight itself, and says so', async () => {
  const tasks = ['sure', 'coin'].map((name) => ({ name, environment: 'm:f' }));
  const suite = define({ environment: undefined, tasks, allocation: 'adaptive' });
  const streams = createEpisodePlanner(suite, (index) => (index < 20 ? 0 : 1));
  const kept = recorded(suite, []);
  const summary = summaryOf(suite, { allocation: 'adaptive' });
  const episodes = async function* (): AsyncGenerator<{ line: number; value: unknown }> {
    for (let position = 0; position < 120; position += 1) {
      const { index, task, environmentSeed, policySeed } = streams(position);
      const outcome = completed(task === 0 || position % 2 === 0 ? 1 : 0);
      yield { line: position + 1, value: { index, task: suite.tasks[task]?.name, environmentSeed, policySeed, outcome } };
    }
  };
  const plan = await planOf(suite, { baseline: await planBaseline({ ...kept, summary, episodes }, suite) });
  expect(plan.returns?.mean).toBeCloseTo(0.75, 12);
  expect(plan.warnings).toContainEqual(expect.stringContaining('for tasks that are drawn by weight'));
});

describe('without a baseline', () => {
  it('a plan is for the worst case of the bounds, and has neither time nor cost', async () => {
    const plan = await planOf(define(), { costPerSandboxHour: 2 });
    expect(plan).toMatchObject({
      baseline: null,
      returns: { from: 'bounds', observed: null, mean: 0.5, standardDeviation: 0.5 },
      forecast: { stop: { rule: 'certified' }, halfWidth: 0.05, seconds: null, cost: null, sandboxSeconds: null },
      knownVarianceEpisodes: 385,
    });
    expect(Math.abs(plan.forecast.episodes.median / 385 - 1.58)).toBeLessThan(0.15);
    expect(plan.leastEpisodes).toBeLessThan(plan.forecast.episodes.low);
    expect(plan.warnings).toEqual([expect.stringContaining('worst case')]);
  });

  it('a plan has the figures of the other rules', async () => {
    const { forecast, others } = await planOf(define());
    expect(others.map(({ stop }) => stop.rule)).toEqual(['approximate', 'asymptotic']);
    expect(others.every(({ halfWidth, stop }) => halfWidth === 0.05 && stop.confidence === forecast.stop.confidence)).toBe(true);
    const [approximate, asymptotic] = others.map(({ episodes }) => episodes.median);
    expect(approximate).toBeLessThan(forecast.episodes.median);
    expect(asymptotic).toBeGreaterThan(forecast.episodes.median);
  });

  it('a plan for a fixed number of episodes has the half-width of the worst case', async () => {
    const plan = await planOf(define({ stop: { rule: 'fixed', episodes: 385 } }));
    expect(plan.forecast).toMatchObject({ episodes: { low: 385, median: 385, high: 385 }, simulation: null, shareCut: 0 });
    expect(plan.forecast.halfWidth).toBeCloseTo(0.04994, 5);
    expect(plan.others.map(({ stop }) => stop.rule)).toEqual(['certified', 'approximate', 'asymptotic']);
    expect(plan.knownVarianceEpisodes).toBeNull();
  });

  it('a fixed number needs no bounds; any other rule needs bounds or a baseline', async () => {
    const unbounded = { reward: {}, failureScores: { timeout: 0, crash: 0 }, budget: { episodes: 9000 } };
    const plan = await planOf(define({ ...unbounded, stop: { rule: 'fixed', episodes: 70 } }));
    expect(plan).toMatchObject({ returns: null, others: [], forecast: { halfWidth: null, episodes: { median: 70 } } });
    const asymptotic = define({ ...unbounded, stop: { rule: 'asymptotic', halfWidth: 1 } });
    await expect(planOf(asymptotic)).rejects.toThrow(/no reward.bounds.*--baseline/);
  });
});

describe('with the episodes of a baseline', () => {
  it('their scores are resampled, and their time and price make the time and the cost', async () => {
    const suite = define();
    const baseline = await planBaseline(recorded(suite, inTen(9)), suite);
    const plan = await planOf(suite, { baseline, costPerSandboxHour: 3.6 });
    const { episodes, sandboxSeconds, seconds, cost } = plan.forecast;
    expect(plan).toMatchObject({
      baseline: { file: 'out/summary.json', checkpoint: CHECKPOINT },
      returns: { from: 'episodes', observed: 200, mean: expect.closeTo(0.9, 12) },
      sandboxes: 4,
      episodeSeconds: 0.5,
      costPerSandboxHour: 3.6,
      warnings: [],
    });
    expect(Math.abs(episodes.median / 138.3 - 1.66)).toBeLessThan(0.2);
    expect(sandboxSeconds?.median).toBeCloseTo(episodes.median * 0.5, 9);
    expect(seconds?.high).toBeCloseTo((episodes.high * 0.5) / 4, 9);
    expect(cost?.low).toBeCloseTo((episodes.low * 0.5 * 3.6) / 3600, 9);
  });

  it('failed ones count with their scores, lost ones not at all', async () => {
    const suite = define({ failureScores: { timeout: 0.25, crash: 0.5 } });
    const outcomes: Outcome[] = [
      { kind: 'failed', cause: 'timeout', detail: '' },
      { kind: 'failed', cause: 'policy-crash', detail: '' },
      { kind: 'lost', detail: '' },
      completed(7),
    ];
    const { returns } = await planBaseline(recorded(suite, outcomes), suite);
    expect(returns.observed).toBe(3);
    expect(returns.mean).toBeCloseTo((0.25 + 0.5 + 0.5) / 3, 12);
  });

  it('too few or equal returns give a warning', async () => {
    const suite = define();
    const few = await planOf(suite, { baseline: await planBaseline(recorded(suite, inTen(9).slice(0, 30)), suite) });
    expect(few.warnings).toEqual([expect.stringContaining('30 episodes only')]);
    const same = await planOf(suite, { baseline: await planBaseline(recorded(suite, inTen(10)), suite) });
    expect(same.warnings).toContainEqual(expect.stringContaining('All 200 returns of the baseline are the same'));
  });

  it('tasks without any are named', async () => {
    const tasks = ['easy', 'rare'].map((name) => ({ name, weight: name === 'rare' ? 1e-6 : 1, environment: 'gymnasium:CartPole-v1' }));
    const suite = define({ environment: undefined, tasks });
    const baseline = await planBaseline(recorded(suite, inTen(9)), suite);
    expect((await planOf(suite, { baseline })).warnings).toEqual([
      'The baseline has no episode of 1 of the tasks (rare): the others stand in for them.',
    ]);
  });

  it('one with a single resolved episode is refused', async () => {
    const suite = define();
    await expect(planBaseline(recorded(suite, [completed(1)]), suite)).rejects.toThrow('out/episodes.ndjson: expected 2 resolved episodes');
  });
});

describe('with a summary alone', () => {
  const alone = (summary: unknown): RecordedEvaluation => ({ summaryFile: 'late.json', summary });

  it('returns are drawn from its histogram', async () => {
    const suite = define();
    const baseline = await planBaseline(alone(summaryOf(suite)), suite);
    expect(baseline).toMatchObject({ from: 'histogram', returns: { observed: 200, mean: expect.closeTo(0.9, 12) }, episodeSeconds: 0.5 });
    expect(Math.abs((await planOf(suite, { baseline })).forecast.episodes.median / 138.3 - 1.66)).toBeLessThan(0.2);
  });

  it('without a histogram, two values match its mean and variance', async () => {
    const suite = define();
    const baseline = await planBaseline(alone(summaryOf(suite, { histogram: undefined }, {})), suite);
    expect(baseline).toMatchObject({ from: 'moments', returns: { observed: 200 }, episodeSeconds: undefined });
    const plan = await planOf(suite, { baseline });
    expect(plan.returns?.standardDeviation).toBeCloseTo(0.3, 9);
    expect(plan.forecast.seconds).toBeNull();
  });

  it('of another suite, it is refused with both digests', async () => {
    const [suite, other] = [define(), define({ seed: 2 })];
    await expect(planBaseline(alone(summaryOf(other)), suite)).rejects.toThrow(new RegExp(`late.json: .*${other.digest}.*${suite.digest}`));
  });

  it.each([
    ['no summary at all', [], 'late.json: expected an object with'],
    [
      'several summaries, whose other fields do not matter',
      { schema: 'muster.summaries/1', summaries: [] },
      /^\S*late.json: schema: expected "muster.summary\/1", got "muster.summaries\/1"[^\n]*\nexpected the summary/,
    ],
    ['no mean, because nothing was resolved', summaryOf(define(), { mean: null }), 'official.mean: is empty (null); expected a number'],
    ['half a histogram', summaryOf(define(), { histogram: { edges: [0], counts: [1] } }), 'official.histogram: expected a histogram'],
  ])('with %s, it is refused by file and field', async (_, summary, message) => {
    await expect(planBaseline(alone(summary), define())).rejects.toThrow(message);
  });
});

describe('a budget', () => {
  it('of episodes cuts evaluations short, and the plan says which share', async () => {
    const plan = await planOf(define({ budget: { episodes: 600 } }));
    expect(plan.forecast.shareCut).toBeGreaterThan(0);
    expect(plan.forecast.episodes.high).toBe(600);
    expect(plan.warnings).toContainEqual(expect.stringMatching(/^The budget of 600 episodes ends [\d.]+ % of such evaluations before/));
  });

  it.each([
    ['likely', 10, 'is likely to end'],
    ['possible', 30, 'may end'],
  ])('of seconds is mentioned when it is %s to come first', async (_, seconds, text) => {
    const suite = define({ budget: { seconds } });
    const baseline = await planBaseline(recorded(suite, inTen(9)), suite);
    expect((await planOf(suite, { baseline })).warnings).toEqual([`The budget of seconds, ${seconds}, ${text} the evaluation first.`]);
  });
});

it('a plan is the same every time', async () => {
  expect(await planOf(define())).toEqual(await planOf(define()));
});

it('planning ends with its signal, between two simulated evaluations', async () => {
  const controller = new AbortController();
  const planning = planEvaluation({ suite: define(), baseline: undefined, sandboxes: 1, costPerSandboxHour: undefined }, controller.signal);
  controller.abort(new DOMException('enough', 'AbortError'));
  await expect(planning).rejects.toThrow('enough');
});
