import { z } from 'zod';
import type { Bounds } from '../../aggregation/intervals/bounds.ts';
import type { FailurePolicy } from '../../aggregation/folding/scoring.ts';
import { drawTask } from '../../aggregation/allocation/sampling-design.ts';
import { formatCanonicalJson, digestBytes } from '../../kernel/canonical-json.ts';
import { InputError } from '../../kernel/errors.ts';
import { parseEpisodeIndex, type Digest } from '../../kernel/ids.ts';
import { createSeedStreams } from '../../kernel/seeds.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import type { TaskEnvironment } from '../../runner/frames.ts';
import type { PlayDeclaration } from './play.ts';
import { findSuiteContradictions } from './suite-contradictions.ts';
import { KnownSettings } from '../../kernel/documents/known-settings.ts';
import type { Layer } from '../../kernel/documents/layer.ts';
import { isMapping, getValueAt } from '../../kernel/documents/path.ts';
import { formatProblemLine, listProblems, type Problem } from '../../kernel/documents/problems.ts';
import { withKnownRewards, withTasks } from './agent-tasks.ts';
import { suiteSchema, type allocationSchema, type ListedTask, type ParsedSuite, type stoppingSchema, type WrittenSuite } from './suite.ts';

export type StopDeclaration = z.infer<typeof stoppingSchema>;
export type AllocationDeclaration = z.infer<typeof allocationSchema>;

export interface SuiteTask extends TaskEnvironment {
  readonly weight: number;
}

/** A suite with every default filled in and every cross-reference checked: all that an evaluation needs to know about it. */
export interface SuiteDefinition {
  readonly name: string;
  /**
   * Digest of everything that decides an episode's outcome: tasks, seed, actions, bounds, scores, limits, way of playing, metrics, files.
   */
  readonly digest: Digest;
  readonly tasks: readonly SuiteTask[];
  /** How an evaluation draws tasks; `adaptive` only with several of them. A comparison draws them by weight. */
  readonly allocation: AllocationDeclaration;
  readonly seed: number;
  readonly actions: 'deterministic' | 'stochastic';
  readonly bounds: Bounds | undefined;
  readonly failureScores: { readonly timeout: number; readonly crash: number };
  /** The failure scores that the suite itself declares; the others are the lower bound. */
  readonly declaredScores: readonly ('timeout' | 'crash')[];
  readonly failures: FailurePolicy;
  readonly episodeSeconds: number;
  /** One after the other, or in blocks that a runner plays as a batch. */
  readonly play: PlayDeclaration;
  readonly metrics: readonly string[];
  /** An episode succeeds when its return is at least `threshold`; `k` ascends without repetition. */
  readonly success: { readonly threshold: number; readonly k: readonly number[] } | undefined;
  readonly stop: StopDeclaration;
  readonly budget: { readonly episodes: number | undefined; readonly seconds: number | undefined; readonly cost: number | undefined };
  readonly template: string;
  /** Digest of the suite's own modules, or of its tasks for agents, if it ships any. */
  readonly filesDigest: Digest | undefined;
}

const KNOWN = new KnownSettings(suiteSchema);

/** Creates the layer of a suite that was not read from a file. Messages name `suite` as its location. */
export function createInlineLayer(value: unknown): Layer {
  return { value, findOrigin: () => 'suite' };
}

/** A stopping rule that replaces the suite's own; it keeps the suite's confidence unless it states another. */
export type StopOverride = z.input<typeof stoppingSchema>;

export function overrideStop(layer: Layer, stop: StopOverride): Layer {
  if (!isMapping(layer.value)) return layer;
  const confidence = getValueAt(layer.value, ['stop', 'confidence']);
  const kept = confidence === undefined ? {} : { confidence };
  return {
    value: { ...layer.value, stop: { ...kept, ...stop } },
    findOrigin: (path) => (path[0] === 'stop' ? 'stopping rule asked for' : layer.findOrigin(path)),
  };
}

/** Single settings that replace the suite's own. */
export interface SuiteChanges {
  readonly seed?: number | undefined;
  readonly actions?: SuiteDefinition['actions'] | undefined;
  /** The confidence of the stopping rule. */
  readonly confidence?: number | undefined;
}

export function overrideSettings(layer: Layer, { seed, actions, confidence }: SuiteChanges): Layer {
  if (!isMapping(layer.value)) return layer;
  const stop = getValueAt(layer.value, ['stop']);
  const asked = new Map<string, unknown>([
    ['seed', seed],
    ['actions', actions],
    ['stop.confidence', confidence],
  ]);
  return {
    value: {
      ...layer.value,
      ...(seed === undefined ? {} : { seed }),
      ...(actions === undefined ? {} : { actions }),
      ...(confidence === undefined || !isMapping(stop) ? {} : { stop: { ...stop, confidence } }),
    },
    findOrigin: (path) => (asked.get(path.join('.')) === undefined ? layer.findOrigin(path) : 'setting asked for'),
  };
}

/**
 * @param layer the suite as written, and the positions of its parts. @throws InputError `suite.invalid` that lists every problem: position,
 * path, what was expected, what was found.
 */
export function parseWrittenSuite(layer: Layer): WrittenSuite {
  if (isMapping(layer.value) && Object.keys(layer.value).length === 0)
    throw new InputError(
      'suite.invalid',
      `${layer.findOrigin([])}: it is empty; expected a suite with name, environment, reward.bounds and stop (docs/suites.md)`,
    );
  const parsed = suiteSchema.safeParse(layer.value);
  if (!parsed.success) throw createInvalidError(layer, listProblems(parsed.error, layer.value, KNOWN));
  return assertSound(layer, withKnownRewards(parsed.data));
}

/**
 * Parses a suite as `parseWrittenSuite` does, for a suite without tasks from a directory. @throws InputError, also `suite.tasks` when it
 * has some.
 */
export function parseSuite(layer: Layer): ParsedSuite {
  const written = parseWrittenSuite(layer);
  const { tasks, ...rest } = written;
  if (tasks === undefined) return rest;
  if (Array.isArray(tasks)) return withTasks(written, tasks);
  throw new InputError(
    'suite.tasks',
    `${layer.findOrigin(['tasks'])}: tasks.from: "${tasks.from}" names a directory; a suite that is sent cannot contain tasks for agents: they are code`,
  );
}

/** Returns the suite with the tasks of its directory. @throws InputError `suite.invalid` when they contradict the rest of it. */
export function addTasks(layer: Layer, written: WrittenSuite, found: readonly ListedTask[]): ParsedSuite {
  const suite = withTasks(written, found);
  assertSound(layer, suite);
  return suite;
}

function assertSound<Suite extends WrittenSuite>(layer: Layer, suite: Suite): Suite {
  const problems = findSuiteContradictions(suite);
  if (problems.length > 0) throw createInvalidError(layer, problems);
  return suite;
}

function createInvalidError(layer: Layer, problems: readonly Problem[]): InputError {
  return new InputError('suite.invalid', problems.map((problem) => formatProblemLine(layer.findOrigin(problem.path), problem)).join('\n'));
}

/** @param filesDigest of the suite's own modules, if it ships any. */
export function defineSuite(suite: ParsedSuite, filesDigest: Digest | undefined): SuiteDefinition {
  const bounds = suite.reward.bounds && { low: suite.reward.bounds[0], high: suite.reward.bounds[1] };
  const floor = bounds?.low;
  const tasks = suite.tasks ?? (suite.environment ? [{ name: suite.name, weight: 1, environment: suite.environment }] : []);
  const decisive: Decisive = {
    tasks,
    seed: suite.seed,
    actions: suite.actions,
    bounds,
    failureScores: { timeout: suite.failureScores.timeout ?? floor ?? 0, crash: suite.failureScores.crash ?? floor ?? 0 },
    episodeSeconds: suite.episode.seconds,
    metrics: suite.metrics,
    filesDigest,
    play: suite.play,
  };
  return {
    ...decisive,
    name: suite.name,
    digest: digestSuite(decisive),
    declaredScores: (['timeout', 'crash'] as const).filter((cause) => suite.failureScores[cause] !== undefined),
    failures: suite.failures,
    allocation: suite.allocation,
    success: suite.success,
    stop: suite.stop,
    budget: { episodes: suite.budget.episodes, seconds: suite.budget.seconds, cost: suite.budget.cost },
    template: suite.template,
  };
}

/** Returns the suite with another way of playing: a different suite with the same distribution of returns. */
export function replacePlay(suite: SuiteDefinition, play: PlayDeclaration): SuiteDefinition {
  return { ...suite, play, digest: digestSuite({ ...suite, play }) };
}

type Decisive = Pick<
  SuiteDefinition,
  'tasks' | 'seed' | 'actions' | 'bounds' | 'failureScores' | 'episodeSeconds' | 'metrics' | 'filesDigest' | 'play'
>;

/** Digests everything that decides outcomes. Playing one after the other is the default and not part of it. */
export function digestSuite({ tasks, seed, actions, bounds, failureScores, episodeSeconds, metrics, filesDigest, play }: Decisive): Digest {
  const named = play.mode === 'single' ? undefined : play;
  const all = { tasks, seed, actions, bounds, failureScores, episodeSeconds, metrics, filesDigest, play: named };
  return digestBytes(formatCanonicalJson(all));
}

/** Position of the task of an index. `draw` is uniform in [0, 1) and belongs to the index alone. */
export type DrawTask = (index: number, draw: number) => number;

/**
 * Creates a function that plans the episode of an index: its seeds and a uniform draw come from the index alone, and the draw picks the task.
 *
 * By default tasks are picked in proportion to the weights, independently for each index, so that the returns are independent and identically
 * distributed with the suite's weighted mean as their expectation.
 */
export function createEpisodePlanner(
  { seed, tasks }: Pick<SuiteDefinition, 'seed' | 'tasks'>,
  drawTask = drawByWeight(tasks),
): (index: number) => PlannedEpisode {
  const streams = createSeedStreams(seed);
  return (index) => {
    const seeds = streams.seeds(index);
    const draw = tasks.length === 1 ? 0 : streams.drawTask(index);
    return { index: parseEpisodeIndex(index), task: drawTask(index, draw), environmentSeed: seeds.environment, policySeed: seeds.policy };
  };
}

function drawByWeight(tasks: readonly SuiteTask[]): DrawTask {
  const total = tasks.reduce((sum, task) => sum + task.weight, 0);
  let sum = 0;
  const byWeight = { upTo: tasks.map((task) => (sum += task.weight) / total) };
  return (_, draw) => drawTask(byWeight, draw);
}
