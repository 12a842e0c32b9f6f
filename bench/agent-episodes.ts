import { Allocation } from '../src/aggregation/allocation/allocation.ts';
import { computeNormalQuantile } from '../src/aggregation/intervals/distribution-quantiles.ts';
import { PrefixFold } from '../src/aggregation/prefix-fold.ts';
import { createStoppingRule } from '../src/aggregation/stopping/stopping.ts';
import { createSeededRandom, drawIndex, type Random } from '../src/kernel/seeded-random.ts';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';

const MEAN = 0.7;
const HALF_WIDTH = 0.05;
const CONFIDENCE = 0.95;
const TASKS = 50;
const BOUNDS = { low: 0, high: 1 };

const NORMAL = computeNormalQuantile((1 + CONFIDENCE) / 2);
/** Enough when nothing is known of the agent, by the normal approximation at the greatest variance that there can be. */
const BY_VARIANCE = Math.ceil((NORMAL / 2 / HALF_WIDTH) ** 2);
/** And so that the confidence holds for certain (Hoeffding 1963). */
const BY_HOEFFDING = Math.ceil(Math.log(2 / (1 - CONFIDENCE)) / (2 * HALF_WIDTH ** 2));

/** Probabilities with which the agent solves the tasks of a suite: the mean of each suite is `MEAN`. */
const SUITES = [
  { name: 'all tasks alike', isSpread: false, tasks: Array<number>(TASKS).fill(MEAN) },
  { name: 'from 40 % to 100 %, evenly', isSpread: true, tasks: Array.from({ length: TASKS }, (_, i) => 0.4 + (0.6 * i) / (TASKS - 1)) },
  { name: 'most always or never', isSpread: true, tasks: [...repeat(0.98, 30), ...repeat(0.5, 10), ...repeat(0.06, 10)] },
] as const;

const WAYS = [
  { name: 'certified', rule: 'certified', isAdaptive: false, fixed: BY_HOEFFDING },
  { name: 'certified, adaptive', rule: 'certified', isAdaptive: true, fixed: BY_HOEFFDING },
  { name: 'approximate', rule: 'approximate', isAdaptive: false, fixed: BY_VARIANCE },
] as const;

type Way = (typeof WAYS)[number];
type Suite = (typeof SUITES)[number];

interface Played {
  readonly episodes: Spread;
  /** Intervals that contain the mean. */
  readonly covered: number;
}

const nameOf = (suite: Suite, way: Way): string => `${suite.name}, ${way.name}`;

export const agentEpisodes: Benchmark = {
  name: 'agent-episodes',
  summary:
    'episodes that stopping rules take for simulated agents on suites of tasks, beside a number fixed in advance for the same half-width',
  measurements: () => SUITES.flatMap((suite) => WAYS.map((way) => nameOf(suite, way))),
  async run({ quick, measured }) {
    const trials = quick ? 20 : 400;
    const [rows, checks]: [Cell[][], Check[]] = [[], []];
    for (const suite of SUITES) {
      for (const way of WAYS) {
        const { episodes, covered } = await measured(nameOf(suite, way), () => playMany(suite, way, trials));
        const saved = 1 - episodes.median / way.fixed;
        rows.push([suite.name, way.name, showSpread(episodes, 0), way.fixed, `${(100 * saved).toFixed(0)} %`, `${covered} of ${trials}`]);
        if (way.isAdaptive && suite.isSpread)
          checks.push({
            what: `episodes saved: ${suite.name}`,
            target: '≥ 30 %',
            measured: `${(100 * saved).toFixed(0)} %`,
            met: saved >= 0.3,
          });
      }
    }
    return {
      tables: [
        {
          title: `An agent that solves ${100 * MEAN} % of ${TASKS} tasks, to ±${100 * HALF_WIDTH} % with ${100 * CONFIDENCE} %`,
          columns: ['suite', 'rule', 'episodes', 'fixed in advance', 'saved', 'intervals that hold'],
          rows,
        },
      ],
      checks,
      notes: [
        `Episodes: median and range over ${trials} simulated evaluations of each; they do not depend on the machine.`,
        `Fixed in advance: ${BY_VARIANCE} by the normal approximation at the greatest variance possible (beside "approximate"), ${BY_HOEFFDING} by Hoeffding's inequality, which like "certified" promises its confidence for certain.`,
      ],
    };
  },
};

function playMany(suite: Suite, way: Way, trials: number): Played {
  const random = createSeededRandom(nameOf(suite, way), 1);
  const played = Array.from({ length: trials }, () => playOne(suite.tasks, way, random));
  return { episodes: spreadOf(played.map(({ episodes }) => episodes)), covered: played.filter(({ holds }) => holds).length };
}

function repeat(probability: number, count: number): readonly number[] {
  return Array<number>(count).fill(probability);
}

function playOne(
  tasks: readonly number[],
  { rule, isAdaptive }: Way,
  random: Random,
): { readonly episodes: number; readonly holds: boolean } {
  const stopping = createStoppingRule({ rule, halfWidth: HALF_WIDTH, confidence: CONFIDENCE }, BOUNDS);
  const weights = tasks.map(() => 1 / tasks.length);
  const allocation = isAdaptive ? new Allocation({ weights, bounds: BOUNDS, halfWidth: HALF_WIDTH }) : undefined;
  const fold = new PrefixFold({
    bounds: BOUNDS,
    failureScores: { timeout: 0, crash: 0 },
    tasks: weights.map((weight, i) => ({ name: `task ${i}`, weight })),
    metrics: [],
    rule: stopping,
    allocation,
    windowSize: 1,
  });
  for (let index = 0; fold.ended === undefined; index += 1) {
    const task = allocation?.pickTask(index, random()) ?? drawIndex(random, tasks.length);
    const isSolved = random() < (tasks[task] ?? 0);
    fold.offer(index, task, { kind: 'completed', return: isSolved ? 1 : 0, length: 1, metrics: {} });
  }
  const interval = stopping.computeInterval();
  return { episodes: fold.folded, holds: interval !== undefined && interval.low <= MEAN && MEAN <= interval.high };
}
