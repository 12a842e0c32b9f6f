import PQueue from 'p-queue';
import pRetry from 'p-retry';
import { createAbortError, raceWithAbort } from '../../../../kernel/abort.ts';
import { sleep, type Clock } from '../../../../kernel/clock.ts';
import { Deadline } from '../../../../kernel/deadline.ts';
import { InfrastructureError } from '../../../../kernel/errors.ts';
import { createApiError, isPassing, LATE, readRefusal } from './api-errors.ts';

/** Long enough for a server under load; a hanging request is repeated. */
const ATTEMPT_MS = 15_000;
/** With pauses from a quarter of a second that double, this bridges about half a minute of failures. */
const RETRIES = 7;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;
/** Concurrent requests. */
const CONCURRENCY = 64;
/** Length of the window over which requests are spread. */
const WINDOW_MS = 100;

type Attempt<Result> = (signal: AbortSignal) => Promise<Result>;

/**
 * Sends all requests to one API server: no more a second than configured, repeated when the server is busy, each with a deadline. When a server
 * states a pause (429), all requests wait for it.
 */
export class ApiGate implements Disposable {
  readonly #queue: PQueue;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  readonly #counts = new Map<string, number>();
  #hold: Disposable | undefined;
  #heldUntil = -Infinity;

  constructor(requestsPerSecond: number, clock: Clock) {
    const windows = 1000 / WINDOW_MS;
    const interval = requestsPerSecond < windows ? Math.ceil(1000 / requestsPerSecond) : WINDOW_MS;
    const intervalCap = requestsPerSecond < windows ? 1 : Math.floor(requestsPerSecond / windows);
    this.#queue = new PQueue({ concurrency: CONCURRENCY, interval, intervalCap });
    this.#clock = clock;
  }

  /** Numbers of requests that were sent so far, retries included, by their kind. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /**
   * @param what as in "create the pod x", for messages; its first word names the request's kind. @param act has to be repeatable. @param retries
   * after the first attempt. @throws InputError | InfrastructureError as `createApiError` makes them, or the signal's reason.
   */
  async request<Result>(what: string, signal: AbortSignal, act: Attempt<Result>, retries = RETRIES): Promise<Result> {
    try {
      return await this.requestRaw(what, signal, act, retries);
    } catch (error) {
      if (signal.aborted) throw createAbortError(signal);
      throw createApiError(error, what);
    }
  }

  /** Does the same as `request`, but throws the client's own errors. */
  async requestRaw<Result>(what: string, signal: AbortSignal, act: Attempt<Result>, retries = RETRIES): Promise<Result> {
    const either = AbortSignal.any([signal, this.#closed.signal]);
    return await pRetry(() => this.#queue.add(() => this.#attempt(what, either, act), { signal: either }), {
      retries,
      minTimeout: FIRST_PAUSE_MS,
      maxTimeout: LONGEST_PAUSE_MS,
      randomize: true,
      signal: either,
      shouldRetry: ({ error }) => isPassing(error),
      onFailedAttempt: ({ error }) => this.#heed(error, either),
    });
  }

  [Symbol.dispose](): void {
    this.#closed.abort(new InfrastructureError('sandbox.provider-closed', 'the sandbox provider has been closed'));
    this.#hold?.[Symbol.dispose]();
    this.#queue.clear();
  }

  async #attempt<Result>(what: string, signal: AbortSignal, act: Attempt<Result>): Promise<Result> {
    const [kind = what] = what.split(' ', 1);
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    const createTimeoutError = (): Error =>
      new InfrastructureError(LATE, `Kubernetes did not ${what}: no answer within ${ATTEMPT_MS / 1000} s`);
    using deadline = new Deadline(this.#clock, ATTEMPT_MS, createTimeoutError, signal);
    return await raceWithAbort(act(deadline.signal), deadline.signal);
  }

  async #heed(error: unknown, signal: AbortSignal): Promise<void> {
    const refusal = readRefusal(error);
    if (refusal?.code !== 429 || refusal.retryAfterMs === undefined) return;
    this.#holdFor(refusal.retryAfterMs);
    await sleep(this.#clock, refusal.retryAfterMs, signal);
  }

  #holdFor(delayMs: number): void {
    const until = this.#clock.now() + delayMs;
    if (until <= this.#heldUntil || this.#closed.signal.aborted) return;
    this.#heldUntil = until;
    this.#hold?.[Symbol.dispose]();
    this.#queue.pause();
    this.#hold = this.#clock.after(delayMs, () => void this.#queue.start());
  }
}
