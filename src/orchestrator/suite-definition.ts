import { z } from 'zod';
import type { Bounds } from '../aggregation/bounds.ts';
import { canonicalJson, digestOf } from '../kernel/canonical-json.ts';
import { InputError } from '../kernel/errors.ts';
import { parseEpisodeIndex, type Digest } from '../kernel/ids.ts';
import { seedStreams } from '../kernel/seeds.ts';
import type { PlannedEpisode } from '../runner/playlist.ts';
import type { TaskEnvironment } from '../runner/frames.ts';
import { suiteContradictions } from './suite-contradictions.ts';
import { KnownSettings } from '../written/known-settings.ts';
import type { Layer } from '../written/layer.ts';
import { isMapping, valueAt } from '../written/path.ts';
import { problemLine, problemsOf } from '../written/problems.ts';
import { suiteSchema, type ParsedSuite, type stoppingSchema } from './suite.ts';

export type StopDeclaration = z.infer<typeof stoppingSchema>;

export interface SuiteTask extends TaskEnvironment {
  readonly weight: number;
}

/** A suite with every default filled in and every cross-reference checked: all that an evaluation needs to know of it. */
export interface SuiteDefinition {
  readonly name: string;
  /** Of everything that decides an episode's outcome: tasks, seed, actions, bounds, scores, limits, metrics, files. */
  readonly digest: Digest;
  readonly tasks: readonly SuiteTask[];
  readonly seed: number;
  readonly actions: 'deterministic' | 'stochastic';
  readonly bounds: Bounds | undefined;
  readonly failureScores: { readonly timeout: number; readonly crash: number };
  readonly episodeSeconds: number;
  readonly metrics: readonly string[];
  /** An episode succeeds whose return is at least `threshold`; `k` ascends without repetition. */
  readonly success: { readonly threshold: number; readonly k: readonly number[] } | undefined;
  readonly stop: StopDeclaration;
  readonly budget: { readonly episodes: number | undefined; readonly seconds: number | undefined; readonly cost: number | undefined };
  readonly template: string;
  /** Of the suite's own modules, if it ships any. */
  readonly filesDigest: Digest | undefined;
}

const KNOWN = new KnownSettings(z.toJSONSchema(suiteSchema, { io: 'input' }));

/** Where a suite that was not read from a file says that its problems are. */
export function inlineSuite(value: unknown): Layer {
  return { value, whereIs: () => 'suite' };
}

/** A stopping rule asked for in place of the suite's own, whose confidence it keeps unless it says another. */
export type StopOverride = z.input<typeof stoppingSchema>;

export function withStop(layer: Layer, stop: StopOverride): Layer {
  if (!isMapping(layer.value)) return layer;
  const confidence = valueAt(layer.value, ['stop', 'confidence']);
  const kept = confidence === undefined ? {} : { confidence };
  return {
    value: { ...layer.value, stop: { ...kept, ...stop } },
    whereIs: (path) => (path[0] === 'stop' ? 'stopping rule asked for' : layer.whereIs(path)),
  };
}

/**
 * @param layer the suite as written, and where in it things stand.
 * @throws InputError `suite.invalid` that lists every problem: where, path, what was expected, what was found.
 */
export function parseSuite(layer: Layer): ParsedSuite {
  const parsed = suiteSchema.safeParse(layer.value);
  const problems = parsed.success ? suiteContradictions(parsed.data) : problemsOf(parsed.error, layer.value, KNOWN);
  if (parsed.success && problems.length === 0) return parsed.data;
  throw new InputError('suite.invalid', problems.map((problem) => problemLine(layer.whereIs(problem.path), problem)).join('\n'));
}

/** @param filesDigest of the suite's own modules, if it ships any. */
export function defineSuite(suite: ParsedSuite, filesDigest: Digest | undefined): SuiteDefinition {
  const bounds = suite.reward.bounds && { low: suite.reward.bounds[0], high: suite.reward.bounds[1] };
  const floor = bounds?.low;
  const tasks = suite.tasks ?? (suite.environment ? [{ name: suite.name, weight: 1, environment: suite.environment }] : []);
  const decisive = {
    tasks,
    seed: suite.seed,
    actions: suite.actions,
    bounds,
    failureScores: { timeout: suite.failureScores.timeout ?? floor ?? 0, crash: suite.failureScores.crash ?? floor ?? 0 },
    episodeSeconds: suite.episode.seconds,
    metrics: suite.metrics,
    filesDigest,
  };
  return {
    ...decisive,
    name: suite.name,
    digest: digestOf(canonicalJson(decisive)),
    success: suite.success,
    stop: suite.stop,
    budget: { episodes: suite.budget.episodes, seconds: suite.budget.seconds, cost: suite.budget.cost },
    template: suite.template,
  };
}

/**
 * Which episode an index stands for. Tasks are drawn independently, each with probability proportional to its weight, so
 * that the returns are independent and identically distributed with the suite's weighted mean as their expectation: what
 * `certified` needs to hold.
 */
export function episodePlanner(suite: Pick<SuiteDefinition, 'seed' | 'tasks'>): (index: number) => PlannedEpisode {
  const streams = seedStreams(suite.seed);
  const total = suite.tasks.reduce((sum, task) => sum + task.weight, 0);
  let sum = 0;
  const upTo = suite.tasks.map((task) => (sum += task.weight) / total);
  return (index) => {
    const seeds = streams.seeds(index);
    const draw = upTo.length === 1 ? 0 : streams.taskDraw(index);
    return { index: parseEpisodeIndex(index), task: firstAbove(upTo, draw), environmentSeed: seeds.environment, policySeed: seeds.policy };
  };
}

/** Position of the first element above `draw`; the last one when rounding left the sum short of 1. */
function firstAbove(ascending: readonly number[], draw: number): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 1) > draw) high = middle;
    else low = middle + 1;
  }
  return low;
}
