import { assertKinds, assertKnownKeys, DATE, FUNCTION, TEXT, TRUTH, type Keys, type Kinds } from '../../kernel/documents/known-keys.ts';
import { isMapping } from '../../kernel/documents/path.ts';
import type { RunningFigures } from '../../service/orders/running-figures.ts';
import type { CheckpointLike } from './named-checkpoint.ts';
import type { CommonFields, ComparisonFields, EvaluationFields } from './request-bodies.ts';
import type { UploadProgress } from './uploads.ts';

/** Options of a call, besides what is evaluated. */

export interface Submitting {
  /** A repeated submission with the same key is the same evaluation. A new key each time when left out. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onUpload?: ((progress: UploadProgress) => void) | undefined;
  /**
   * Path of a checkpoint that the server may have, for example the run's previous one: only the difference is sent, where that is smaller.
   * Checkpoints that this client has uploaded need not be named.
   */
  readonly base?: string | undefined;
}

export interface Waiting {
  /** Afterwards an error says that it was not over in time. The evaluation continues. */
  readonly timeoutSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((figures: RunningFigures) => void) | undefined;
}

export interface SubmitOptions extends EvaluationFields, Submitting {
  /** Makes it a comparison of the checkpoint with this one. */
  readonly baseline?: CheckpointLike | undefined;
}
export interface CompareOptions extends ComparisonFields, Submitting {}

const WAITING: Keys<Waiting> = { timeoutSeconds: true, signal: true, onProgress: true };
const SUBMITTING: Keys<Submitting> = { idempotencyKey: true, signal: true, onUpload: true, base: true };
const ASKED: Keys<CommonFields> = { run: true, version: true, priority: true, deadline: true, labels: true, webhook: true, cache: true };
const SUBMIT: Keys<SubmitOptions & Waiting> = { ...ASKED, ...SUBMITTING, ...WAITING, stop: true, baseline: true };
const COMPARE: Keys<CompareOptions & Waiting> = {
  ...ASKED,
  ...SUBMITTING,
  ...WAITING,
  confidence: true,
  margin: true,
  budgetEpisodes: true,
};

/** Options whose values do not reach the server as they are, so that it cannot refuse them. */
const KINDS: Kinds<SubmitOptions & Waiting> = {
  cache: TRUTH,
  deadline: DATE,
  labels: { expected: 'an object of texts, such as { owner: "ppo" }', fits: isMapping },
  timeoutSeconds: { expected: 'a number of seconds, 0 or more', fits: (value) => typeof value === 'number' && value >= 0 },
  signal: { expected: 'an AbortSignal', fits: (value) => value instanceof AbortSignal },
  onProgress: FUNCTION,
  onUpload: FUNCTION,
  base: TEXT,
  idempotencyKey: TEXT,
};

/** @throws InputError `library.input` for an unknown option, or a value of another kind. */
export function assertSubmitting(options: SubmitOptions): void {
  assertKnownKeys('options', options, SUBMIT);
  assertKinds('options', options, KINDS);
}

/** @throws as `assertSubmitting` does. */
export function assertComparing(options: CompareOptions): void {
  assertKnownKeys('options', options, COMPARE);
  assertKinds('options', options, KINDS);
}
