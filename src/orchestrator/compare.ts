import type { OfficialComparison } from '../aggregation/comparison/comparison-statistics.ts';
import type { RunningComparison } from '../aggregation/comparison/paired-fold.ts';
import type { EpisodeJournal } from '../evaluation-store/episode-journal.ts';
import { InfrastructureError, InputError } from '../kernel/errors.ts';
import type { StoredCheckpoint } from '../policy-distribution/stored-checkpoint.ts';
import { Comparison, type Baseline } from './comparison.ts';
import { findBestVerdict, type ComparisonSummary } from './results/comparison-summary.ts';
import type { EpisodeSink } from './arm/episode-record.ts';
import { EpisodeRun, type RunOptions, type RunResult } from './run/episode-run.ts';
import { assertPriced } from './evaluate.ts';
import { getWindow, type EvaluateContext } from './run/evaluate-context.ts';
import { runWarnings } from './facts/run-facts.ts';
import { describeAllFailed, warnOfFailures, isAllFailed, type FailedEpisodes } from './results/all-failed.ts';
import { nameCheckpoint } from './run/refused-checkpoint-error.ts';
import { AllFailedError, RunFailedError } from './run/run-failed-error.ts';
import type { SuiteDefinition } from './suite/suite-definition.ts';
import { toCheckpointFacts } from './results/summarise.ts';
import type { CheckpointFacts } from './results/summary.ts';

export interface NamedCheckpoint {
  readonly checkpoint: StoredCheckpoint;
  /** The URI as the caller wrote it. */
  readonly uri: string;
  /** Replaces the URI in messages. */
  readonly name?: string | undefined;
}

export interface ComparisonRequest {
  readonly suite: SuiteDefinition;
  /** The suite's own modules in the store, if it ships any. */
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly baseline: Baseline;
  readonly baselineUri: string;
  readonly baselineName?: string | undefined;
  /** The candidates, at least one. */
  readonly candidates: readonly NamedCheckpoint[];
  readonly terms: ComparisonTermsInput;
}

/** Options of a comparison beside its checkpoints. */
export interface ComparisonTermsInput {
  /** Probability that no verdict is wrong; the suite's own confidence when left out. */
  readonly confidence?: number;
  /** Mean differences up to it do not matter; in units of the return, 0 when left out. */
  readonly margin?: number;
  /** The episodes of all checkpoints together; by default the suite's budget, or 2,000 for each checkpoint if it has none. */
  readonly budgetEpisodes?: number;
}

export interface CompareOptions extends RunOptions<RunningComparison> {
  readonly episodes?: EpisodeSink;
  /** Makes the comparison durable, like that of an evaluation. @param arm 0 for the baseline, 1, 2, … for the candidates. */
  readonly journal?: (arm: number) => EpisodeJournal;
}

export class ComparisonFailedError extends RunFailedError<ComparisonSummary> {
  constructor(partial: ComparisonSummary, cause: Error) {
    super('comparison', `${partial.official.pairs} pairs`, partial, cause);
  }
}

/** All episodes of a checkpoint failed, and the suite does not accept that as an answer. */
export class ComparisonAllFailedError extends AllFailedError<ComparisonSummary> {}

/** Returns the partial answer that an error of `compare` carries. */
export function getPartialComparison(error: unknown): ComparisonSummary | undefined {
  return error instanceof ComparisonFailedError || error instanceof ComparisonAllFailedError ? error.partial : undefined;
}

/** This number nearly always decides a difference of 5 % of the range. */
const DEFAULT_PAIRS = 2000;

/**
 * Plays checkpoints on the same episodes until every candidate has its verdict against the baseline.
 *
 * @throws InputError when suite, checkpoints and terms do not fit together, as ComparisonAllFailedError when every episode of one failed; ComparisonFailedError when the infrastructure gave out.
 */
export async function compare(
  context: EvaluateContext,
  request: ComparisonRequest,
  options: CompareOptions = {},
): Promise<ComparisonSummary> {
  assertPriced(context, request.suite);
  assertDistinct(request);
  const { suite, terms, candidates } = request;
  const budgetEpisodes = terms.budgetEpisodes ?? suite.budget.episodes ?? DEFAULT_PAIRS * (candidates.length + 1);
  const comparison = new Comparison({
    ...request,
    candidates: candidates.map(({ checkpoint }) => checkpoint),
    confidence: terms.confidence ?? suite.stop.confidence,
    margin: terms.margin ?? 0,
    budgetEpisodes,
    config: { ...context.config, window: getWindow(context, suite) },
    sink: options.episodes,
    journal: options.journal,
    maxSandboxes: context.maxSandboxes,
  });
  const result = await new EpisodeRun(context, comparison, options).play();
  const { failure } = result;
  if (failure && !(failure instanceof InfrastructureError)) throw nameCheckpoint(failure, listPlayed(request));
  await context.turns?.next();
  const official = await comparison.computeOfficial(context.workOutImprovement);
  const parts = listCheckpointEpisodes(request, official);
  const failing = parts.findIndex((part) => isAllFailed(suite, result.ending, part));
  const ending = failing < 0 ? result.ending : 'failures';
  const summary = summariseComparison(request, budgetEpisodes, official, { ...result, ending });
  if (failure) throw new ComparisonFailedError(summary, failure);
  const part = parts[failing];
  if (part) throw new ComparisonAllFailedError('comparison', describeAllFailed(part, comparison.getErrors(failing), part.whose), summary);
  return summary;
}

function listPlayed({ baseline, baselineUri, baselineName, candidates }: ComparisonRequest): readonly NamedCheckpoint[] {
  return baseline.kind === 'played'
    ? [{ uri: baselineUri, name: baselineName, checkpoint: baseline.checkpoint }, ...candidates]
    : candidates;
}

interface CheckpointEpisodes extends FailedEpisodes {
  /** Names the episodes in words: `episodes of NAME`. */
  readonly whose: string;
}

/** Lists the episodes of each checkpoint, the baseline's first. */
function listCheckpointEpisodes(
  { baselineUri, baselineName, candidates }: ComparisonRequest,
  official: OfficialComparison,
): readonly CheckpointEpisodes[] {
  return [
    { whose: `episodes of ${baselineName ?? baselineUri}`, failures: official.baselineFailures, resolved: official.pairs },
    ...official.candidates.map(({ failures, pairs, name }, i) => ({
      whose: `episodes of ${candidates[i]?.name ?? candidates[i]?.uri ?? name}`,
      failures,
      resolved: pairs,
    })),
  ];
}

function summariseComparison(
  request: ComparisonRequest,
  budgetEpisodes: number,
  official: OfficialComparison,
  { ending, facts }: RunResult,
): ComparisonSummary {
  const { suite, baseline, baselineUri, candidates } = request;
  return {
    schema: 'muster.comparison/1',
    official: {
      suite: { name: suite.name, digest: suite.digest },
      baseline: { digest: getDigest(baseline) },
      budgetEpisodes,
      ...official,
    },
    verdict: findBestVerdict(official.candidates.map(({ verdict }) => verdict)),
    ended: ending,
    partial: ending !== 'verdicts' && ending !== 'episodes',
    warnings: [
      ...listCheckpointEpisodes(request, official).flatMap((part) => warnOfFailures(suite, part, part.whose)),
      ...runWarnings(ending, facts, suite),
    ],
    baseline: { ...toBaselineFacts(baseline, baselineUri), recorded: baseline.kind === 'recorded' },
    candidates: candidates.map(({ checkpoint, uri }) => toCheckpointFacts(checkpoint, uri)),
    run: facts,
  };
}

function toBaselineFacts(baseline: Baseline, uri: string): CheckpointFacts {
  return baseline.kind === 'played' ? toCheckpointFacts(baseline.checkpoint, uri) : { uri, files: 0, bytes: 0 };
}

function getDigest(baseline: Baseline): StoredCheckpoint['digest'] {
  return baseline.kind === 'played' ? baseline.checkpoint.digest : baseline.digest;
}

/** A checkpoint against itself would use the whole budget and decide nothing. */
function assertDistinct({ baseline, baselineUri, baselineName, candidates }: ComparisonRequest): void {
  const seen = new Map([[getDigest(baseline), baselineName ?? baselineUri]]);
  for (const { checkpoint, uri, name = uri } of candidates) {
    const other = seen.get(checkpoint.digest);
    if (other !== undefined) {
      throw new InputError(
        'comparison.same-checkpoint',
        `${name} and ${other} are the same checkpoint (${checkpoint.digest}); give each checkpoint once`,
      );
    }
    seen.set(checkpoint.digest, name);
  }
}
