import { randomUUID } from 'node:crypto';
import { assertKinds, type Kind } from '../../kernel/documents/known-keys.ts';
import { isMapping } from '../../kernel/documents/path.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import { isWeightsFile } from '../../policy-distribution/checkpoint.ts';
import { evaluationSchema, type EvaluationResource } from '../http/schemas/evaluation-schemas.ts';
import type { RolloutsResource } from '../http/schemas/rollout-schemas.ts';
import { assertComparing, assertSubmitting, type CompareOptions, type Submitting, type SubmitOptions } from './call-options.ts';
import { SLOW_ANSWER_MILLISECONDS, type Calls } from './calls.ts';
import { nameCheckpoint, type CheckpointLike } from './named-checkpoint.ts';
import {
  createCheckpointReference,
  createComparisonBody,
  createEvaluationBody,
  type CheckpointReference,
  type EvaluationFields,
  type NewEvaluation,
} from './request-bodies.ts';
import { RolloutsClient, type RolloutTerms } from './rollouts-client.ts';
import { Uploader } from './uploads.ts';

/** The name of a suite on the server; a path that ends in .yaml, .yml or .json; or the content of such a file. */
export type SuiteLike = NewEvaluation['suite'];

export interface SubmissionOptions {
  /** Reads the checkpoints of this machine. */
  readonly source: CheckpointSource;
  /** Reads the suite of a file. @throws InputError when it cannot be sent. */
  readonly readSuite: (path: string) => Promise<SuiteLike>;
}

const SUITE_FILE = /\.(ya?ml|json)$/;
const NEVER = new AbortController().signal;

const SUITE: Kind = {
  expected: 'the name of a suite, the path of a YAML or JSON file, or a suite as an object',
  fits: (value) => (typeof value === 'string' && value !== '') || isMapping(value),
};

/** Reads suites, uploads checkpoints, and submits evaluations of them. */
export class Submissions {
  readonly #calls: Calls;
  readonly #rollouts: RolloutsClient;
  readonly #uploader: Uploader;
  readonly #readSuite: SubmissionOptions['readSuite'];

  constructor(calls: Calls, { source, readSuite }: SubmissionOptions) {
    this.#calls = calls;
    this.#rollouts = new RolloutsClient(calls);
    this.#uploader = new Uploader(calls, source);
    this.#readSuite = readSuite;
  }

  async evaluate(checkpoint: CheckpointLike, suite: SuiteLike, options: SubmitOptions): Promise<EvaluationResource> {
    assertSubmitting(options);
    const written = await this.#resolveSuite(suite);
    const subject = await this.#buildReference(checkpoint, options, options);
    const baseline = options.baseline === undefined ? undefined : await this.#buildReference(options.baseline, {}, options);
    return this.#submit('/v1/evaluations', createEvaluationBody(subject, { suite: written, baseline }, options), options);
  }

  async compare(
    baseline: CheckpointLike,
    candidates: CheckpointLike | readonly CheckpointLike[],
    suite: SuiteLike,
    options: CompareOptions,
  ): Promise<EvaluationResource> {
    assertComparing(options);
    const written = await this.#resolveSuite(suite);
    const reference = await this.#buildReference(baseline, {}, options);
    const references = [];
    for (const candidate of [candidates].flat()) references.push(await this.#buildReference(candidate, options, options));
    return this.#submit('/v1/comparisons', createComparisonBody(reference, references, written, options), options);
  }

  async startRollouts(agent: CheckpointLike, suite: SuiteLike, terms: RolloutTerms, how: Submitting): Promise<RolloutsResource> {
    const written = await this.#resolveSuite(suite);
    const reference = await this.#buildReference(agent, {}, how).catch((error: unknown) => {
      throw blameAgent(error);
    });
    return this.#rollouts.begin({ ...terms, suite: written, agent: reference }, how.signal);
  }

  /** Uploads a checkpoint that the server does not have. @returns its digest. */
  upload(path: string, { signal = NEVER, onUpload, base }: Pick<Submitting, 'signal' | 'onUpload' | 'base'>): Promise<Digest> {
    return this.#uploader.bring(path, { signal, onProgress: onUpload, base });
  }

  async #resolveSuite(given: SuiteLike): Promise<SuiteLike> {
    assertKinds('arguments', { suite: given }, { suite: SUITE });
    return typeof given === 'string' && (SUITE_FILE.test(given) || isWeightsFile(given)) ? this.#readSuite(given) : given;
  }

  async #buildReference(
    given: CheckpointLike,
    { run, version }: Pick<EvaluationFields, 'run' | 'version'>,
    how: Submitting,
  ): Promise<CheckpointReference> {
    const named = nameCheckpoint(given, { run, version });
    return createCheckpointReference(named, 'path' in named ? await this.upload(named.path, how) : undefined);
  }

  #submit(path: string, body: object, { idempotencyKey = randomUUID(), signal }: Submitting): Promise<EvaluationResource> {
    const headers = { 'idempotency-key': idempotencyKey };
    const call = { method: 'POST', path, body, headers, signal, answerMilliseconds: SLOW_ANSWER_MILLISECONDS } as const;
    return this.#calls.ask(evaluationSchema, call);
  }
}

/** An agent's file is uploaded like a checkpoint, but errors must not call it one. */
function blameAgent(error: unknown): unknown {
  if (!(error instanceof InputError) || !error.message.startsWith('checkpoint')) return error;
  return new InputError(error.code, error.message.replace(/^checkpoint/, 'agent'), { cause: error });
}
