import { sleep, type Clock } from '../../../kernel/clock.ts';
import { InputError } from '../../../kernel/errors.ts';
import type { EvaluationItem, EvaluationResource } from '../../http/schemas/evaluation-schemas.ts';
import { isOver } from '../../../service/orders/is-over.ts';
import type { BatchFile } from './batch-file.ts';
import { buildBatchKey, type PlannedCheckpoint, type PlannedSuite } from './batch-plan.ts';
import { RefusedError } from '../client-errors.ts';
import type { MusterClient } from '../muster-client.ts';
import { nameCheckpoint, nameFile, type NamedCheckpoint } from '../named-checkpoint.ts';
import type { UploadProgress } from '../uploads.ts';

/** One evaluation of a batch and its present state. */
export type BatchItem = { readonly checkpoint: string; readonly suite: string } & (
  | { readonly kind: 'planned' }
  /** It cannot be evaluated as it is. */
  | { readonly kind: 'refused'; readonly error: InputError }
  | { readonly kind: 'submitted'; readonly evaluation: EvaluationItem }
  | { readonly kind: 'over'; readonly evaluation: EvaluationResource }
);

/** A batch file together with all that it names. */
export interface OpenedBatch {
  /** The label "batch" of its evaluations. */
  readonly name: string;
  readonly file: BatchFile;
  readonly checkpoints: readonly PlannedCheckpoint[];
  readonly suites: readonly PlannedSuite[];
  /** The name in the form of `nameCheckpoint`, with an absolute path. */
  readonly baseline: string | undefined;
}

export interface BatchOptions extends OpenedBatch {
  readonly client: MusterClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with all items whenever one of them has changed. */
  readonly onChange: (items: readonly BatchItem[]) => void;
  /** @param title of the checkpoint that is uploaded. */
  readonly onUpload: (title: string, progress: UploadProgress) => void;
}

const LABEL = 'batch';
const LOOK_MILLISECONDS = 2000;
const MOST_LISTED = 200;
/** Failures after which a question is given up. */
const MOST_ATTEMPTS = 1000;

/**
 * Evaluates every checkpoint on every suite: submits questions that are new to the server, or whose evaluation failed or was cancelled, and waits for
 * all. When it is run again, it continues: each question has an idempotency key that follows from its content.
 */
export class Batch {
  readonly #options: BatchOptions;
  readonly #items: BatchItem[];
  readonly #submitted = new AbortController();

  constructor(options: BatchOptions) {
    this.#options = options;
    const { checkpoints, suites } = options;
    this.#items = checkpoints.flatMap(({ title }) =>
      suites.map((suite) => ({ kind: 'planned', checkpoint: title, suite: suite.title }) as const),
    );
  }

  get items(): readonly BatchItem[] {
    return this.#items;
  }

  /** Resolves when all are over or refused. @throws as `MusterClient.submit` does, for what concerns them all; the signal's reason. */
  async run(): Promise<void> {
    const failed = new AbortController();
    const signal = AbortSignal.any([this.#options.signal, failed.signal]);
    const parts = [this.#submitAll(signal), this.#watch(signal)].map((part) => part.catch((error: unknown) => failed.abort(error)));
    // When one part fails, the other is ended, too.
    await Promise.all(parts);
    failed.signal.throwIfAborted();
  }

  async #submitAll(signal: AbortSignal): Promise<void> {
    const { client, checkpoints, suites, baseline } = this.#options;
    const digests = new Map<string, string>();
    for (const { suite } of suites) if (typeof suite === 'string') digests.set(suite, (await client.suite(suite, signal)).digest);
    const reference = baseline === undefined ? undefined : await this.#bring(baseline, nameCheckpoint(baseline), signal);
    for (const [i, { title, named }] of checkpoints.entries()) {
      const range = { from: i * suites.length, suites, digests, baseline: reference };
      try {
        await this.#submitOn(range, await this.#bring(title, named, signal), signal);
      } catch (error) {
        if (!isAboutOne(error)) throw error;
        for (let k = 0; k < suites.length; k += 1) this.#refuse(range.from + k, error);
      }
    }
    this.#submitted.abort();
  }

  async #submitOn({ from, suites, digests, baseline }: OfOneCheckpoint, checkpoint: NamedCheckpoint, signal: AbortSignal): Promise<void> {
    const { file, name } = this.#options;
    const { stop, priority, cache } = file;
    const asked = { stop, priority, cache: cache === 'on', labels: { ...file.labels, [LABEL]: name }, baseline };
    for (const [k, { suite }] of suites.entries()) {
      const digest = typeof suite === 'string' ? digests.get(suite) : undefined;
      const ask = (attempt: number): Promise<EvaluationResource> => {
        const idempotencyKey = buildBatchKey({ checkpoint, suite, ...asked }, digest, attempt);
        return this.#options.client.submit(checkpoint, suite, { ...asked, idempotencyKey, signal });
      };
      try {
        this.#onFound(from + k, await this.#submit(ask, signal));
      } catch (error) {
        if (!isAboutOne(error)) throw error;
        this.#refuse(from + k, error);
      }
    }
  }

  /** Returns the evaluation that answers the question, now or later: the first that has not failed and was not cancelled. */
  async #submit(ask: (attempt: number) => Promise<EvaluationResource>, signal: AbortSignal): Promise<EvaluationResource> {
    for (let attempt = 1; attempt < MOST_ATTEMPTS; attempt += 1) {
      const evaluation = await this.#submitWithinQuota(() => ask(attempt), signal);
      if (evaluation.state !== 'failed' && evaluation.state !== 'cancelled') return evaluation;
    }
    throw new InputError('batch.attempts', `it was tried ${MOST_ATTEMPTS} times without an answer; check why it fails`);
  }

  /** Waits while the quota of waiting evaluations is used up, until some of the batch's own begin. */
  async #submitWithinQuota<Value>(ask: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof RefusedError) || error.reason !== 'quota' || error.retryAfterSeconds === undefined) throw error;
        await sleep(this.#options.clock, 1000 * error.retryAfterSeconds, signal);
      }
    }
  }

  async #bring(title: string, named: NamedCheckpoint, signal: AbortSignal): Promise<NamedCheckpoint> {
    if (!('path' in named)) return named;
    const { path, ...labels } = named;
    const onUpload = (progress: UploadProgress): void => this.#options.onUpload(title, progress);
    return { ...labels, name: labels.name ?? nameFile(path), sha256: await this.#options.client.upload(path, { signal, onUpload }) };
  }

  /** Checks all running evaluations together, by their label: one request for many. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { client, name } = this.#options;
    while (!this.#submitted.signal.aborted || this.#items.some(({ kind }) => kind === 'submitted')) {
      await this.#pause(signal);
      const active = new Map<string, EvaluationItem>();
      const filter = { label: { name: LABEL, value: name }, state: ['waiting', 'running'] } as const;
      for await (const item of client.list(filter, { pageSize: MOST_LISTED, signal })) active.set(item.id, item);
      for (const [i, item] of this.#items.entries()) {
        if (item.kind !== 'submitted') continue;
        const evaluation = active.get(item.evaluation.id);
        // Missing in the list: it is over, or was submitted since.
        if (evaluation) this.#set(i, { ...item, evaluation });
        else this.#onFound(i, await client.get(item.evaluation.id, signal));
      }
    }
  }

  /** Waits until the next check is due, or the last of them has been submitted: they may all be over by then. */
  async #pause(signal: AbortSignal): Promise<void> {
    const submitted = this.#submitted.signal;
    const wake = submitted.aborted ? signal : AbortSignal.any([signal, submitted]);
    await sleep(this.#options.clock, LOOK_MILLISECONDS, wake).catch(() => signal.throwIfAborted());
  }

  #onFound(position: number, evaluation: EvaluationResource): void {
    const { checkpoint, suite } = this.#getItem(position);
    this.#set(position, { checkpoint, suite, kind: isOver(evaluation) ? 'over' : 'submitted', evaluation });
  }

  #refuse(position: number, error: InputError): void {
    const { checkpoint, suite } = this.#getItem(position);
    this.#set(position, { checkpoint, suite, kind: 'refused', error });
  }

  #getItem(position: number): BatchItem {
    const item = this.#items[position];
    if (!item) throw new RangeError(`the batch has no item ${position}`);
    return item;
  }

  #set(position: number, item: BatchItem): void {
    this.#items[position] = item;
    this.#options.onChange(this.#items);
  }
}

interface OfOneCheckpoint {
  /** Position of the first of its items. */
  readonly from: number;
  readonly suites: readonly PlannedSuite[];
  readonly digests: ReadonlyMap<string, string>;
  readonly baseline: NamedCheckpoint | undefined;
}

/** Whether the server may accept the others of the batch. */
function isAboutOne(error: unknown): error is InputError {
  if (!(error instanceof InputError)) return false;
  return !(error instanceof RefusedError) || error.reason === 'bad-request' || error.reason === 'conflict' || error.reason === 'not-found';
}
