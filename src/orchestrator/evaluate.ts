import { InfrastructureError, InputError } from '../kernel/errors.ts';
import type { StoredCheckpoint } from '../policy-distribution/stored-checkpoint.ts';
import type { EpisodeJournal } from '../evaluation-store/episode-journal.ts';
import type { RunningStatistics } from '../aggregation/prefix-fold.ts';
import type { EpisodeSink } from './arm/episode-record.ts';
import { EpisodeRun, type RunOptions } from './run/episode-run.ts';
import { getWindow, type EvaluateContext } from './run/evaluate-context.ts';
import { Evaluation } from './evaluation.ts';
import { describeAllFailed, isAllFailed } from './results/all-failed.ts';
import { nameCheckpoint } from './run/refused-checkpoint-error.ts';
import { AllFailedError, RunFailedError } from './run/run-failed-error.ts';
import type { SuiteDefinition } from './suite/suite-definition.ts';
import { summarise } from './results/summarise.ts';
import type { Summary } from './results/summary.ts';

export interface EvaluationRequest {
  readonly suite: SuiteDefinition;
  /** The suite's own modules in the store, if it ships any. */
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoint: StoredCheckpoint;
  /** The URI as the caller gave it. */
  readonly checkpointUri: string;
  /** Replaces the URI in messages. */
  readonly checkpointName?: string | undefined;
}

export interface EvaluateOptions extends RunOptions<RunningStatistics> {
  readonly episodes?: EpisodeSink;
  /** Makes the evaluation durable: it resumes from the episodes in the journal, and a new episode counts once it is in the journal. */
  readonly journal?: EpisodeJournal;
}

export class EvaluationFailedError extends RunFailedError<Summary> {
  constructor(partial: Summary, cause: Error) {
    super('evaluation', `${partial.official.episodes} episodes`, partial, cause);
  }
}

/** All episodes failed, and the suite does not accept that as an answer. */
export class EvaluationAllFailedError extends AllFailedError<Summary> {}

/** Returns the partial summary that an error of `evaluate` carries. */
export function getPartialSummary(error: unknown): Summary | undefined {
  return error instanceof EvaluationFailedError || error instanceof EvaluationAllFailedError ? error.partial : undefined;
}

/**
 * Plays as many episodes of the suite as its stopping rule needs, on as many sandboxes as the pool may have.
 *
 * @throws InputError when checkpoint and suite do not fit together, as EvaluationAllFailedError when every episode failed;
 * EvaluationFailedError when the infrastructure failed.
 */
export async function evaluate(context: EvaluateContext, request: EvaluationRequest, options: EvaluateOptions = {}): Promise<Summary> {
  assertPriced(context, request.suite);
  const config = { ...context.config, window: getWindow(context, request.suite) };
  const evaluation = new Evaluation({ ...request, config, sink: options.episodes, journal: options.journal });
  const { ending: ended, failure, facts } = await new EpisodeRun(context, evaluation, options).play();
  if (failure && !(failure instanceof InfrastructureError))
    throw nameCheckpoint(failure, [{ name: request.checkpointName, uri: request.checkpointUri, checkpoint: request.checkpoint }]);
  await context.turns?.next();
  const official = await evaluation.computeOfficial(context.workOut);
  const ending = isAllFailed(request.suite, ended, official) ? 'failures' : ended;
  const summary = summarise({ ...request, official, ending, facts });
  if (failure) throw new EvaluationFailedError(summary, failure);
  if (ending === 'failures')
    throw new EvaluationAllFailedError('evaluation', describeAllFailed(official, evaluation.arms[0].errors, 'episodes'), summary);
  return summary;
}

/** @throws InputError when the suite has a budget in money, but no template says what a sandbox costs. */
export function assertPriced({ costPerSandboxHour }: EvaluateContext, { budget, template }: SuiteDefinition): void {
  if (budget.cost === undefined || costPerSandboxHour !== undefined) return;
  throw new InputError(
    'suite.budget-cost',
    `budget.cost: the template "${template}" has no price; set templates.${template}.costPerSandboxHour in the configuration, or leave the budget out`,
  );
}
