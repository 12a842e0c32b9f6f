import type { z } from 'zod';
import type { Digest } from '../../kernel/ids.ts';
import type { newComparisonSchema, newEvaluationSchema } from '../http/schemas/evaluation-schemas.ts';
import { nameFile, type NamedCheckpoint } from './named-checkpoint.ts';

/** Bodies of requests, from what callers give. */

export type NewEvaluation = z.input<typeof newEvaluationSchema>;
export type NewComparison = z.input<typeof newComparisonSchema>;
export type CheckpointReference = NewEvaluation['checkpoint'];

/** Options of any evaluation or comparison. */
export interface CommonFields {
  /** The checkpoint's training run. */
  readonly run?: string | undefined;
  /** The checkpoint's training step. */
  readonly version?: number | undefined;
  /** −100 to 100; higher ones come first among the caller's own. */
  readonly priority?: number | undefined;
  /** Latest time of its end: the figures so far are then kept, labelled partial. */
  readonly deadline?: Date | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** URL that is called when it is over. */
  readonly webhook?: string | undefined;
  /** When it is false, every episode is played again. */
  readonly cache?: boolean | undefined;
}

export interface EvaluationFields extends CommonFields {
  /** Replaces the suite's stopping rule: `{ rule: 'certified', halfWidth: 5 }`, `{ rule: 'fixed', episodes: 200 }`. */
  readonly stop?: NewEvaluation['stop'] | undefined;
}

export interface ComparisonFields extends CommonFields {
  /** Probability that no verdict is wrong. */
  readonly confidence?: number | undefined;
  /** Mean differences up to it do not matter. */
  readonly margin?: number | undefined;
  /** The largest number of episodes of all checkpoints together. */
  readonly budgetEpisodes?: number | undefined;
}

interface Played {
  readonly suite: NewEvaluation['suite'];
  readonly baseline: CheckpointReference | undefined;
}

export function createEvaluationBody(checkpoint: CheckpointReference, { suite, baseline }: Played, asked: EvaluationFields): NewEvaluation {
  const { stop } = asked;
  return {
    checkpoint,
    suite,
    ...(baseline === undefined ? {} : { baseline }),
    ...(stop === undefined ? {} : { stop }),
    ...toCommonFields(asked),
  };
}

export function createComparisonBody(
  baseline: CheckpointReference,
  candidates: readonly CheckpointReference[],
  suite: NewComparison['suite'],
  asked: ComparisonFields,
): NewComparison {
  const { confidence, margin, budgetEpisodes } = asked;
  return {
    baseline,
    candidates: [...candidates],
    suite,
    ...(confidence === undefined ? {} : { confidence }),
    ...(margin === undefined ? {} : { margin }),
    ...(budgetEpisodes === undefined ? {} : { budgetEpisodes }),
    ...toCommonFields(asked),
  };
}

/** @param digest of a checkpoint that was given by its path. */
export function createCheckpointReference(named: NamedCheckpoint, digest: Digest | undefined): CheckpointReference {
  const { run, version, name = 'path' in named ? nameFile(named.path) : undefined } = named;
  const labels = {
    ...(name === undefined ? {} : { name }),
    ...(run === undefined ? {} : { run }),
    ...(version === undefined ? {} : { version }),
  };
  if (digest !== undefined) return { sha256: digest, ...labels };
  if ('uri' in named) return { uri: named.uri, ...labels };
  return 'sha256' in named ? { sha256: named.sha256, ...labels } : labels;
}

function toCommonFields({
  priority,
  deadline,
  labels,
  webhook,
  cache = true,
}: CommonFields): Omit<NewComparison, 'baseline' | 'candidates' | 'suite'> {
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(deadline === undefined ? {} : { deadline: deadline.toISOString() }),
    ...(labels === undefined ? {} : { labels: { ...labels } }),
    ...(webhook === undefined ? {} : { webhook: { url: webhook } }),
    ...(cache ? {} : { cache: 'off' }),
  };
}
