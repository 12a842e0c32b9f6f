import { Deadline } from '../../kernel/deadline.ts';
import { createAbortError } from '../../kernel/abort.ts';
import { InputError } from '../../kernel/errors.ts';
import type { StoredCheckpoint } from '../../policy-distribution/stored-checkpoint.ts';
import { EpisodeRun } from '../run/episode-run.ts';
import { getWindow, type EvaluateContext } from '../run/evaluate-context.ts';
import { replacePlay, type SuiteDefinition } from '../suite/suite-definition.ts';
import { TuningTrial } from './tuning-trial.ts';
import { findFastest, MOST_TRIALS, listWaysOfPlaying, listWaysWithMoreSandboxes, type TimedWay, type Way } from './tuning-ways.ts';
import type { Tuning, TuningTrialResult } from './tuning.ts';

export interface TuningRequest {
  readonly suite: SuiteDefinition;
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoint: StoredCheckpoint;
  /** The URI as the caller wrote it. */
  readonly checkpointUri: string;
  readonly processors: number;
  /** The time for all trials together. When it is over, no further trial begins; the first may take longer, until it has played an episode. */
  readonly seconds: number;
}

/** The trial under way. */
export interface TuningProgress {
  readonly seconds: number;
  readonly way: Way;
  /** The number of the trial, from 1. */
  readonly trial: number;
  /** Planned so far. */
  readonly trials: number;
  /** Results of the trials before. */
  readonly results: readonly TuningTrialResult[];
}

export interface TuneOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: TuningProgress) => void;
}

/** A trial without enough outcomes ends after this many times its planned time, not counting its start. */
const PATIENCE = 4;
/** The first trial shows how long a start takes, up to the first outcome; others may take this many times as long. */
const START_PATIENCE = 2;
/** A trial's start is deducted from its share of the time, down to this part of the share. */
const LEAST_OF_SHARE = 0.25;
/** A way with a larger share of failed episodes is not timed: failing may be quick. */
const MOST_FAILED = 0.5;

/**
 * Plays a suite in several ways, each for a few seconds, and reports how fast each is.
 *
 * @throws InputError when the suite cannot be played at all; InfrastructureError when the machine fails; the signal's reason when it is
 * aborted.
 */
export async function tune(context: EvaluateContext, request: TuningRequest, options: TuneOptions): Promise<Tuning> {
  const { clock, maxSandboxes } = context;
  const { processors } = request;
  const startedAt = clock.now();
  const timed: TimedWay[] = [];
  const results: TuningTrialResult[] = [];
  const endsAt = startedAt + 1000 * request.seconds;
  let startMilliseconds = context.config.loadMilliseconds;
  let usualStart = 0;
  let leftOut = 0;
  const round = async (ways: readonly Way[]): Promise<void> => {
    const trials = results.length + ways.length;
    for (const way of ways) {
      const left = results.length === 0 ? Number.POSITIVE_INFINITY : endsAt - clock.now();
      if (left <= 0) {
        leftOut += 1;
        continue;
      }
      const seconds = (clock.now() - startedAt) / 1000;
      options.onProgress?.({ seconds, way, trial: results.length + 1, trials, results });
      const share = Math.max(0, endsAt - clock.now()) / (MOST_TRIALS - results.length);
      const milliseconds = Math.max(share - usualStart, LEAST_OF_SHARE * share);
      const terms = { way, milliseconds, startMilliseconds, left, signal: options.signal };
      const { result, firstEpisodeSeconds } = await tryWay(context, request, terms);
      if (results.length === 0) {
        usualStart = 1000 * (firstEpisodeSeconds ?? 0);
        startMilliseconds = START_PATIENCE * usualStart;
      }
      results.push(addRatio(result, results[0]));
      if (result.episodesPerSecond !== null) timed.push({ way, episodesPerSecond: result.episodesPerSecond });
    }
  };
  const bounds = { processors, sandboxes: maxSandboxes, episodes: getMostEpisodes(request.suite) };
  await round(listWaysOfPlaying(bounds));
  await round(listWaysWithMoreSandboxes(timed, bounds));
  const best = findFastest(timed);
  return {
    schema: 'muster.tuning/1',
    suite: { name: request.suite.name },
    checkpoint: { uri: request.checkpointUri, digest: request.checkpoint.digest },
    processors,
    sandboxesMax: maxSandboxes,
    seconds: (clock.now() - startedAt) / 1000,
    trials: results,
    fastest: best ? { ...best.way, episodesPerSecond: best.episodesPerSecond } : null,
    warnings: listWarnings(results, leftOut),
  };
}

function getMostEpisodes({ stop, budget }: SuiteDefinition): number {
  return Math.min(stop.rule === 'fixed' ? stop.episodes : Number.POSITIVE_INFINITY, budget.episodes ?? Number.POSITIVE_INFINITY);
}

interface TrialTerms {
  readonly way: Way;
  /** Time to measure after the start. */
  readonly milliseconds: number;
  readonly startMilliseconds: number;
  /** Milliseconds in which it has to end. */
  readonly left: number;
  readonly signal: AbortSignal;
}

interface Tried {
  readonly result: TuningTrialResult;
  readonly firstEpisodeSeconds: number | undefined;
}

async function tryWay(context: EvaluateContext, request: TuningRequest, terms: TrialTerms): Promise<Tried> {
  const { way, milliseconds, startMilliseconds, left, signal } = terms;
  const { clock } = context;
  const suite = replacePlay({ ...request.suite, budget: { episodes: undefined, seconds: undefined, cost: undefined } }, way.play);
  const trialContext = { ...context, maxSandboxes: way.sandboxes };
  const config = { ...context.config, window: getWindow(trialContext, suite) };
  const trial = new TuningTrial({ ...request, suite, config, sandboxes: way.sandboxes, clock, milliseconds });
  using deadline = new Deadline(
    clock,
    Math.min(left, startMilliseconds + PATIENCE * milliseconds),
    createTooSlowError,
    AbortSignal.any([signal, trial.over]),
  );
  const { failure, facts } = await new EpisodeRun(trialContext, trial, { signal: deadline.signal }).play();
  if (signal.aborted) throw createAbortError(signal);
  if (failure && !(failure instanceof InputError && way.play.mode !== 'single')) throw failure;
  const estimate = facts.episodeSeconds && facts.episodeSeconds.mean > 0 ? way.sandboxes / facts.episodeSeconds.mean : null;
  const isTelling = !failure && trial.failed <= MOST_FAILED * trial.outcomes;
  const result = {
    ...way,
    episodesPerSecond: isTelling ? (trial.episodesPerSecond ?? estimate) : null,
    isEstimate: isTelling && trial.episodesPerSecond === undefined && estimate !== null,
    timesSingle: null,
    episodes: trial.outcomes,
    failed: trial.failed,
    forwardShare: facts.forwardShare ?? null,
    refusal: failure?.message ?? null,
  };
  return { result, firstEpisodeSeconds: facts.firstEpisodeSeconds };
}

function createTooSlowError(): Error {
  return new DOMException('it took too long', 'AbortError');
}

/** @param first the result of playing one after the other. */
function addRatio(result: TuningTrialResult, first: TuningTrialResult = result): TuningTrialResult {
  if (result.episodesPerSecond === null || first.episodesPerSecond === null) return result;
  return { ...result, timesSingle: result.episodesPerSecond / first.episodesPerSecond };
}

function listWarnings(results: readonly TuningTrialResult[], leftOut: number): string[] {
  const failed = results.reduce((sum, trial) => sum + trial.failed, 0);
  const episodes = results.reduce((sum, trial) => sum + trial.episodes, 0);
  const estimates = results.filter(({ isEstimate }) => isEstimate).length;
  return [
    ...(failed > 0 ? [`${failed} of ${episodes} episodes failed; failing takes another time than playing does`] : []),
    ...(estimates > 0 ? [`${estimates} of ${results.length} trials were too short to be timed: give more --seconds`] : []),
    ...(leftOut > 0 ? [`${leftOut} further ways were not tried, for want of time: give more --seconds`] : []),
  ];
}
