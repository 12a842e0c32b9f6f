import PQueue from 'p-queue';
import pRetry from 'p-retry';
import type { Clock } from '../kernel/clock.ts';
import { InfrastructureError, messageOf } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { PoolTotals } from '../pool/pool-state.ts';
import type { Pool } from '../pool/pool.ts';
import type { Distributor } from '../policy-distribution/distributor.ts';
import type { StoredCheckpoint } from '../policy-distribution/checkpoint-store.ts';
import type { PlayedEpisode } from '../runner/played-episode.ts';
import type { RunnerSession } from '../runner/session.ts';
import type { EpisodeSink } from './episode-record.ts';
import { Evaluation, type EvaluationConfig } from './evaluation.ts';
import { keepRenewed } from './lease-renewal.ts';
import { ProgressReporter, type Progress } from './progress.ts';
import type { SuiteDefinition } from './suite-definition.ts';
import { Shift } from './shift.ts';
import { summarise } from './summarise.ts';
import type { Ending, Summary } from './summary.ts';
import { Waiters } from './waiters.ts';

export interface EvaluationRequest {
  readonly suite: SuiteDefinition;
  /** The suite's own modules in the store, when it ships any. */
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoint: StoredCheckpoint;
  /** As the caller gave it. */
  readonly checkpointUri: string;
}

export interface EvaluateOptions {
  /** Aborting it ends the evaluation with a partial summary. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly episodes?: EpisodeSink;
}

export interface EvaluateContext {
  readonly pool: Pool<RunnerSession>;
  /** Of the pool, for the record. */
  readonly provider: string;
  /** Most sandboxes that the pool may have: no more leases are asked for. */
  readonly maxSandboxes: number;
  readonly distributor: Distributor;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: EvaluationRunConfig;
}

export interface EvaluationRunConfig extends EvaluationConfig {
  /** Failures of infrastructure in a row, without an outcome in between, that a sandbox's place may have. */
  readonly infrastructureRetries: number;
  /** Before the first of these retries; doubled for each further one. */
  readonly retryMilliseconds: number;
  readonly renewMilliseconds: number;
  readonly beginMilliseconds: number;
  readonly loadMilliseconds: number;
}

/** The infrastructure gave out before the evaluation was over, or all of it was kept. What had been folded by then is in `partial`. */
export class EvaluationFailedError extends InfrastructureError {
  readonly partial: Summary;

  constructor(partial: Summary, cause: Error) {
    const how = partial.partial ? 'was given up' : 'could not be kept whole, though it was over';
    super('evaluation.failed', `the evaluation ${how} after ${partial.official.episodes} episodes: ${cause.message}`, { cause });
    this.partial = partial;
  }
}

/**
 * Plays as many episodes of the suite as its stopping rule needs, on as many sandboxes as the pool may have.
 *
 * @throws InputError when checkpoint and suite do not fit together; EvaluationFailedError when the infrastructure gave out.
 */
export async function evaluate(context: EvaluateContext, request: EvaluationRequest, options: EvaluateOptions = {}): Promise<Summary> {
  return new EvaluationRun(context, request, options).run();
}

/** Fewer episodes than these in the window and ranges get so short that messages, not episodes, take the time. */
const WINDOW_PER_SANDBOX = 64;

class EvaluationRun {
  readonly #context: EvaluateContext;
  readonly #request: EvaluationRequest;
  readonly #evaluation: Evaluation;
  readonly #progress: ProgressReporter;
  readonly #queue: PQueue;
  readonly #idle = new Waiters();
  readonly #over = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #poolBefore: PoolTotals;
  #ending: Ending = 'rule';
  #failure: Error | undefined;
  #wasLoaded = false;
  /** Places that play, look for work or wait for their sandbox. */
  #staffed = 0;

  constructor(context: EvaluateContext, request: EvaluationRequest, options: EvaluateOptions) {
    this.#context = context;
    this.#request = request;
    this.#caller = options.signal;
    const window = Math.max(context.config.window, WINDOW_PER_SANDBOX * context.maxSandboxes);
    this.#evaluation = new Evaluation(request.suite, request.checkpoint.digest, { ...context.config, window }, options.episodes);
    this.#progress = new ProgressReporter(context.clock, this.#evaluation, () => context.pool.state(), this.#guarded(options.onProgress));
    this.#poolBefore = context.pool.state().totals;
    this.#queue = new PQueue({ concurrency: context.maxSandboxes });
  }

  async run(): Promise<Summary> {
    using _budget = this.#startBudget();
    using _progress = this.#progress.start();
    const onAbort = (): void => this.#end('interrupted');
    if (this.#caller?.aborted) onAbort();
    this.#caller?.addEventListener('abort', onAbort, { once: true });
    this.#staff();
    await this.#queue.onIdle();
    this.#caller?.removeEventListener('abort', onAbort);
    return this.#conclude();
  }

  async #conclude(): Promise<Summary> {
    this.#progress.report();
    if (!this.#failure) await this.#evaluation.finish().catch((error: unknown) => this.#fail(toError(error)));
    if (this.#failure && !(this.#failure instanceof InfrastructureError)) throw this.#failure;
    const ending = this.#failure ? 'failed' : this.#ending;
    const summary = summarise({
      ...this.#request,
      evaluation: this.#evaluation,
      ending,
      timings: this.#progress.timings(),
      provider: this.#context.provider,
      sandboxesMax: this.#context.maxSandboxes,
      pool: this.#context.pool.state(),
      poolBefore: this.#poolBefore,
    });
    if (this.#failure) throw new EvaluationFailedError(summary, this.#failure);
    return summary;
  }

  /** A listener that throws, called from a timer, would end the whole process; it ends the evaluation. */
  #guarded(listener: EvaluateOptions['onProgress']): EvaluateOptions['onProgress'] {
    return (
      listener &&
      ((progress) => {
        try {
          listener(progress);
        } catch (error) {
          this.#fail(toError(error));
        }
      })
    );
  }

  #startBudget(): Disposable | undefined {
    const { seconds } = this.#request.suite.budget;
    return seconds === undefined ? undefined : this.#context.clock.after(seconds * 1000, () => this.#end('seconds'));
  }

  #end(ending: Ending): void {
    if (this.#over.signal.aborted) return;
    this.#ending = ending;
    this.#over.abort(new DOMException('the evaluation is over', 'AbortError'));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#end('failed');
  }

  /** Puts as many places to work as there are episodes waiting, within the pool's bounds. */
  #staff(): void {
    const wanted = this.#evaluation.available(this.#context.maxSandboxes) - this.#idle.count;
    const free = this.#context.maxSandboxes - this.#staffed;
    for (let i = 0; i < Math.min(wanted, free); i += 1) {
      this.#staffed += 1;
      void this.#queue.add(() => this.#place());
    }
  }

  /** One place in the pool: leases one sandbox after the other until there is nothing left to play. */
  async #place(): Promise<void> {
    const { infrastructureRetries, retryMilliseconds } = this.#context.config;
    try {
      while (!this.#over.signal.aborted) {
        await pRetry(() => this.#shift(), {
          retries: infrastructureRetries,
          minTimeout: retryMilliseconds,
          maxTimeout: 64 * retryMilliseconds,
          signal: this.#over.signal,
          shouldRetry: ({ error }) => error instanceof InfrastructureError,
          onFailedAttempt: ({ error, retriesLeft }) => {
            if (error instanceof InfrastructureError)
              this.#context.log.warn({ error: error.message, retriesLeft }, 'a sandbox was of no use');
          },
        });
      }
    } catch (error) {
      if (!this.#over.signal.aborted) this.#fail(toError(error));
    } finally {
      this.#staffed -= 1;
    }
  }

  /**
   * The time with one lease.
   *
   * @throws InfrastructureError when nothing came of it that an episode can be held to account for.
   */
  async #shift(): Promise<void> {
    const { pool, clock, config } = this.#context;
    await using lease = await pool.acquire(this.#over.signal);
    using _renewal = keepRenewed(lease, clock, config.renewMilliseconds);
    await new Shift(lease, {
      ...this.#context,
      request: this.#request,
      evaluation: this.#evaluation,
      idle: this.#idle,
      over: this.#over.signal,
      sandboxes: () => this.#staffed,
      record: (played) => this.#record(played),
      onLoaded: () => (this.#wasLoaded = true),
      wasLoaded: () => this.#wasLoaded,
    }).work();
  }

  /** Results that cannot be kept end the evaluation: no retry would bring them back. */
  async #record(played: readonly PlayedEpisode[]): Promise<void> {
    this.#progress.countOutcomes(played.filter(({ outcome }) => outcome.kind !== 'lost').length);
    try {
      const wait = this.#evaluation.record(played);
      this.#afterRecording();
      if (wait) await wait;
    } catch (error) {
      this.#fail(toError(error));
    }
  }

  #afterRecording(): void {
    if (this.#evaluation.ended) return this.#end(this.#evaluation.ended);
    this.#staff();
    // At the tail one looks, though nothing is waiting: there may be a straggler that has only one copy left.
    this.#idle.wake(Math.max(1, this.#evaluation.available(this.#staffed)));
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown));
}
