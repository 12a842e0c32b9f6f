import { computeNormalQuantile } from '../../src/aggregation/intervals/distribution-quantiles.ts';
import { computeStudentInterval } from '../../src/aggregation/intervals/intervals.ts';
import { Moments } from '../../src/aggregation/intervals/moments.ts';
import { TaskResults } from '../../src/aggregation/results/task-results.ts';
import type { Random } from '../../src/kernel/seeded-random.ts';
import { standardNormal } from './distributions.ts';
import type { CoverageOutcome, Scenario } from './scenario.ts';
import type { Target } from './scenario.ts';

const CONFIDENCE = 0.95;
const EPISODES_A_TASK = 25;
/** Correlation of two returns on one task, which is the share of the variance that lies between tasks. */
const WITHIN_TASKS = 0.2;
const EFFORT = 10;
const PROMISED: readonly Target[] = [{ kind: 'share', figure: 'coverage', of: ['holds'], atLeast: 0.942 }];

/** Suites of tasks that are drawn anew each time, with normal returns: which of the means that they estimate does which interval hold? */
export const TASK_SCENARIOS: readonly Scenario[] = [
  scenario('this suite', 20, PROMISED, thisSuite),
  scenario('task population, clustered', 20, PROMISED, taskPopulation),
  scenario('task population, clustered', 5, [], taskPopulation),
  scenario('task population, episodes taken for independent', 20, [], asIfIndependent),
];

/** Returns of one evaluation on tasks that were drawn for it. The mean over all tasks that there could be is 0. */
interface SuiteResults {
  readonly results: TaskResults;
  readonly returns: Moments;
  /** Mean over the tasks that were drawn. */
  readonly suiteMean: number;
}

function scenario(name: string, tasks: number, targets: readonly Target[], judge: (suite: SuiteResults) => CoverageOutcome): Scenario {
  return {
    group: 'tasks',
    name: `${name}, ${tasks} tasks`,
    effort: EFFORT,
    targets,
    trial: (random) => ({ outcome: judge(play(tasks, random)), episodes: tasks * EPISODES_A_TASK }),
  };
}

/** Every episode draws its task, as in an evaluation. The tasks' results are asked themselves: the official result would bootstrap as well. */
function play(tasks: number, random: Random): SuiteResults {
  const means = Array.from({ length: tasks }, () => Math.sqrt(WITHIN_TASKS) * standardNormal(random));
  const results = new TaskResults(
    means.map((_, task) => ({ name: `task ${task}`, weight: 1 })),
    undefined,
  );
  const returns = new Moments();
  for (let episode = 0; episode < tasks * EPISODES_A_TASK; episode += 1) {
    const task = Math.floor(tasks * random());
    const value = (means[task] ?? 0) + Math.sqrt(1 - WITHIN_TASKS) * standardNormal(random);
    results.add(task, { low: value, high: value });
    returns.add(value);
  }
  return { results, returns, suiteMean: means.reduce((sum, mean) => sum + mean, 0) / tasks };
}

function thisSuite({ results, suiteMean }: SuiteResults): CoverageOutcome {
  const { mean, standardError } = results.estimateSuite();
  if (mean === null || standardError === null) return 'no interval';
  const halfWidth = computeNormalQuantile((1 + CONFIDENCE) / 2) * standardError;
  return place(mean - halfWidth, mean + halfWidth, suiteMean);
}

function taskPopulation({ results, returns }: SuiteResults): CoverageOutcome {
  const interval = results.estimateTaskPopulation(returns.mean, CONFIDENCE)?.interval ?? undefined;
  return interval === undefined ? 'no interval' : place(interval.low, interval.high, 0);
}

function asIfIndependent({ returns }: SuiteResults): CoverageOutcome {
  const interval = computeStudentInterval(returns, CONFIDENCE);
  return interval === undefined ? 'no interval' : place(interval.low, interval.high, 0);
}

function place(low: number, high: number, mean: number): CoverageOutcome {
  if (high < mean) return 'below';
  return low > mean ? 'above' : 'holds';
}
