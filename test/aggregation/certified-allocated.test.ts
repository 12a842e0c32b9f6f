import { expect, test } from 'vitest';
import { Allocation } from '../../src/aggregation/allocation/allocation.ts';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import { CertifiedRule } from '../../src/aggregation/stopping/certified-rule.ts';
import { ConfidenceSequence } from '../../src/aggregation/stopping/certified.ts';
import { seededRandom } from './seeded-random.ts';

const RUNS = 400;
const bounds: Bounds = { low: 0, high: 1 };

interface Task {
  readonly weight: number;
  readonly mean: number;
  draw(random: () => number): number;
}

const bernoulli = (p: number, weight = 1): Task => ({ weight, mean: p, draw: (random) => (random() < p ? 1 : 0) });
const constant = (value: number, weight = 1): Task => ({ weight, mean: value, draw: () => value });
/** 85 % reach the upper bound, the rest fail anywhere before it. */
const cartPoleLike = (weight = 1): Task => ({ weight, mean: 0.925, draw: (random) => (random() < 0.85 ? 1 : random()) });

interface Evaluated {
  readonly episodes: number;
  readonly covered: boolean;
}

/** One evaluation to the half-width; tasks are drawn by weight unless the allocation is adaptive. */
function evaluate(tasks: readonly Task[], halfWidth: number, adaptive: boolean, seed: number): Evaluated {
  const random = seededRandom(seed);
  const weights = tasks.map(({ weight }) => weight);
  const allocation = new Allocation({ weights, bounds, halfWidth });
  const byWeight = new Allocation({ weights, bounds, halfWidth });
  const rule = new CertifiedRule(halfWidth, 0.95, bounds);
  let episodes = 0;
  for (; !rule.isSatisfied(); episodes += 1) {
    const draw = random();
    const task = adaptive ? allocation.pickTask(episodes, draw) : byWeight.pickTask(0, draw);
    const value = tasks[task]?.draw(random) ?? Number.NaN;
    const score = { low: value, high: value };
    rule.fold(adaptive ? allocation.fold(task, score) : score);
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const mean = tasks.reduce((sum, task) => sum + (task.weight / total) * task.mean, 0);
  const { low, high } = rule.computeInterval() ?? bounds;
  return { episodes, covered: low <= mean && mean <= high };
}

function evaluations(tasks: readonly Task[], halfWidth: number, adaptive: boolean): { missed: number; episodes: number } {
  const all = Array.from({ length: RUNS }, (_, run) => evaluate(tasks, halfWidth, adaptive, 7919 * run));
  return {
    missed: all.filter(({ covered }) => !covered).length,
    episodes: all.reduce((sum, { episodes }) => sum + episodes, 0) / RUNS,
  };
}

interface Suite {
  readonly name: string;
  readonly tasks: readonly Task[];
  readonly halfWidth: number;
  /** Episodes on average, over those that drawing by weight takes; from simulations of 1,000 evaluations. */
  readonly cost: number;
}

const unequal = [constant(1), bernoulli(0.5), bernoulli(0.98), cartPoleLike()];
const unequalWeights = [constant(1, 4), bernoulli(0.5), bernoulli(0.98, 2), cartPoleLike()];
const suites: readonly Suite[] = [
  { name: 'tasks of unequal spread', tasks: unequal, halfWidth: 0.05, cost: 0.71 },
  { name: 'tasks of unequal spread and weight', tasks: unequalWeights, halfWidth: 0.03, cost: 0.61 },
  { name: 'tasks of unequal means', tasks: [1, 2, 3, 4, 5].map((k) => bernoulli(0.2 * k)), halfWidth: 0.05, cost: 0.7 },
  { name: 'tasks that are alike', tasks: Array.from({ length: 4 }, () => bernoulli(0.5)), halfWidth: 0.05, cost: 1 },
];

test.each(suites)('stopping at the target width keeps the promised coverage, at the known cost: $name', ({ tasks, halfWidth, cost }) => {
  const adaptive = evaluations(tasks, halfWidth, true);
  const byWeight = evaluations(tasks, halfWidth, false);
  expect(adaptive.missed).toBeLessThanOrEqual(0.05 * RUNS);
  expect(Math.abs(adaptive.episodes / byWeight.episodes - cost)).toBeLessThan(0.05);
});

test('an evaluation that ends before the first adaptation equals one with tasks drawn by weight', () => {
  for (let seed = 0; seed < 50; seed += 1) expect(evaluate(unequal, 0.2, true, seed)).toEqual(evaluate(unequal, 0.2, false, seed));
});

test('adaptive allocation loses little if it can gain little', () => {
  const constants = Array.from({ length: 10 }, (_, k) => constant(k / 9));
  for (const tasks of [unequal, unequalWeights, constants]) {
    const ratio = evaluations(tasks, 0.1, true).episodes / evaluations(tasks, 0.1, false).episodes;
    expect(ratio).toBeLessThan(1.06);
  }
});

test('unresolved episodes widen the interval', () => {
  const random = seededRandom(6);
  const seen = new Allocation({ weights: [1, 1], bounds, halfWidth: 0.05 });
  const rules = { resolved: new CertifiedRule(0.05, 0.95, bounds), unresolved: new CertifiedRule(0.05, 0.95, bounds) };
  const missing = new Allocation({ weights: [1, 1], bounds, halfWidth: 0.05 });
  for (let index = 0; index < 400; index += 1) {
    const value = random() < 0.8 ? 1 : 0;
    const lost = random() < 0.05;
    rules.resolved.fold(seen.fold(index % 2, { low: value, high: value }));
    rules.unresolved.fold(missing.fold(index % 2, lost ? bounds : { low: value, high: value }));
  }
  const [narrow, wide] = [rules.resolved.computeInterval(), rules.unresolved.computeInterval()];
  expect(wide?.low).toBeLessThan(narrow?.low ?? 0);
  expect(wide?.high).toBeGreaterThan(narrow?.high ?? 1);
});

test('the rule bets in the range that a score comes with, in units of the return', () => {
  const random = seededRandom(9);
  const rule = new CertifiedRule(4, 0.95, { low: -10, high: 30 });
  const sequence = new ConfidenceSequence({ halfWidth: 0.1, confidence: 0.95 });
  for (let index = 0; index < 300; index += 1) {
    const unit = random() < 0.7 ? 1.5 : -1;
    const value = 40 * unit - 10;
    rule.fold({ low: value, high: value, range: { low: -50, high: 50 } });
    sequence.fold(unit, unit, { low: -1, high: 1.5 });
  }
  expect(rule.computeInterval()?.low).toBeCloseTo(40 * sequence.low - 10, 9);
  expect(rule.computeInterval()?.high).toBeCloseTo(40 * sequence.high - 10, 9);
});

test('loose bounds are detected from returns, not from scores', () => {
  const rule = new CertifiedRule(0.01, 0.95, bounds);
  for (let index = 0; index < 100; index += 1) {
    const value = 0.5 + 0.001 * (index % 2);
    const counted = index % 2 === 0 ? -0.5 : 1.5;
    rule.fold({ low: counted, high: counted, returned: { low: value, high: value }, range: { low: -1, high: 2 } });
  }
  expect(rule.listWarnings()).toEqual([expect.stringContaining('returns lay in [0.5, 0.501]')]);
});
