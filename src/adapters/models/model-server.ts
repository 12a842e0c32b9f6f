import { recordFailure, CLOSED, askPermission, type Circuit, type CircuitTerms } from '../../agents/acting/model/circuit.ts';
import type { ContextExceeded, RequestRefused } from '../../agents/acting/model/model-endpoint.ts';
import { sleep, type Clock } from '../../kernel/clock.ts';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import { Permits } from '../../pool/permits.ts';
import { tryParseJson } from '../../kernel/json-bounds.ts';
import { JsonPoster, type PostedAnswer } from './json-poster.ts';

export interface ModelServerTerms {
  /** The part of the URL before /chat/completions. */
  readonly url: string;
  readonly key: string | undefined;
  /** The largest number of requests at a time. */
  readonly concurrency: number;
  /** The time limit of one answer. */
  readonly answerSeconds: number;
  /** The time limit of one answer with all waits and retries. If the server is gone for longer, the caller gets an error. */
  readonly patienceSeconds: number;
}

/** The answer is malformed or contradicts itself, so it is requested again. */
export class UnusableAnswerError extends Error {}

const CIRCUIT: CircuitTerms = { failures: 5, openMs: 5000, probeMs: 60_000 };
/** How often a waiting request checks whether the probe of another has succeeded. */
const LOOK_AGAIN_MS = 250;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** Characters of an answer in a message. */
const SHOWN = 500;
/** Matches reports that a conversation is too long: OpenAI and vLLM send the code or the sentence, SGLang the sentence. */
const TOO_LONG = /context_length_exceeded|maximum context length|longer than the model's context|input is too long|exceeds the context/i;

/** A conversation that the server refuses. */
type Unfit = ContextExceeded | RequestRefused;

type Tried<Value> =
  | { readonly kind: 'answered'; readonly value: Value | Unfit }
  | { readonly kind: 'failed'; readonly why: string; readonly waitMs: number | undefined };

/** One server, shared by all callers: a limit on concurrent requests, retries with jitter, and a circuit breaker. */
export class ModelServer implements Disposable {
  readonly #terms: ModelServerTerms;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #poster: JsonPoster;
  readonly #permits: Permits;
  #circuit: Circuit = CLOSED;
  #problem: string | undefined;

  /** @param random uniform in [0, 1). */
  constructor(terms: ModelServerTerms, clock: Clock, random: () => number) {
    this.#terms = terms;
    this.#clock = clock;
    this.#random = random;
    this.#poster = new JsonPoster(`${terms.url.replace(/\/$/, '')}/chat/completions`, clock);
    this.#permits = new Permits(terms.concurrency);
  }

  /** The name in messages. */
  get name(): string {
    return `the model server ${new URL(this.#terms.url).host}`;
  }

  /** Says what keeps requests waiting. It is undefined while the server answers. */
  get problem(): string | undefined {
    return this.#circuit.kind === 'closed' ? undefined : this.#problem;
  }

  /**
   * Sends a request until it is answered.
   *
   * @param read reads the answer's JSON; throws UnusableAnswerError for one that must be requested again. @throws InfrastructureError
   * `endpoint.unavailable`; InputError `endpoint.refused`; what `read` throws; the signal's reason.
   */
  async ask<Value>(body: string, read: (answer: unknown) => Value, signal: AbortSignal): Promise<Value | Unfit> {
    const { patienceSeconds } = this.#terms;
    const end = this.#clock.now() + patienceSeconds * 1000;
    for (let failures = 0; ; failures += 1) {
      await this.#waitForPermission(end, signal);
      const tried = await this.#tryInTurn(body, read, signal);
      if (tried.kind === 'answered') return tried.value;
      const waitMs = tried.waitMs ?? this.#drawDelay(failures);
      if (this.#clock.now() + waitMs > end)
        throw new InfrastructureError(
          'endpoint.unavailable',
          `${this.name} gave no answer within ${patienceSeconds} s: ${tried.why}; check the server, then try again`,
        );
      await sleep(this.#clock, waitMs, signal);
    }
  }

  [Symbol.dispose](): void {
    this.#poster[Symbol.dispose]();
  }

  async #waitForPermission(end: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const now = this.#clock.now();
      const permitted = askPermission(this.#circuit, now, CIRCUIT);
      if (permitted.kind === 'go') {
        this.#circuit = permitted.circuit;
        return;
      }
      if (now >= end)
        throw new InfrastructureError(
          'endpoint.unavailable',
          `${this.name} fails repeatedly, and gets no requests for a while; check the server, then try again`,
        );
      await sleep(this.#clock, Math.min(permitted.ms, LOOK_AGAIN_MS), signal);
    }
  }

  async #tryInTurn<Value>(body: string, read: (answer: unknown) => Value, signal: AbortSignal): Promise<Tried<Value>> {
    const [permit] = await this.#permits.acquire(1, signal);
    try {
      return await this.#try(body, read, signal);
    } finally {
      permit?.[Symbol.dispose]();
    }
  }

  async #try<Value>(body: string, read: (answer: unknown) => Value, signal: AbortSignal): Promise<Tried<Value>> {
    try {
      const value = this.#read(await this.#post(body, signal), read);
      this.#circuit = CLOSED;
      return { kind: 'answered', value };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof InputError || error instanceof InfrastructureError) {
        // The server works, but its answer is unusable.
        this.#circuit = CLOSED;
        throw error;
      }
      this.#circuit = recordFailure(this.#circuit, this.#clock.now(), CIRCUIT);
      this.#problem = `${this.name} fails repeatedly, and requests wait: ${getMessage(error)}`;
      return { kind: 'failed', why: getMessage(error), waitMs: error instanceof BusyError ? error.waitMs : undefined };
    }
  }

  #post(body: string, signal: AbortSignal): Promise<PostedAnswer> {
    const { key, answerSeconds } = this.#terms;
    return this.#poster.post(key === undefined ? {} : { authorization: `Bearer ${key}` }, body, answerSeconds, signal);
  }

  #read<Value>(posted: PostedAnswer, read: (answer: unknown) => Value): Value | Unfit {
    const { status, text } = posted;
    if (status === 200) return read(parseDocument(text));
    if (status < 500 && TOO_LONG.test(text)) return { kind: 'context-exceeded', detail: text.slice(0, SHOWN) };
    const shown = `it answered ${status}: ${text.slice(0, SHOWN)}`;
    if (isOfThisRequest(status)) return { kind: 'request-refused', detail: `${this.name} refuses the request: ${shown}` };
    if (isForLater(status)) throw new BusyError(shown, readWait(posted));
    throw new InputError('endpoint.refused', `${this.name} refuses requests: ${shown}; correct the agent's file, or the key`);
  }

  /** Full jitter: callers that failed together do not retry together. */
  #drawDelay(failures: number): number {
    return this.#random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures + 1));
  }
}

/** A server that cannot answer now. */
class BusyError extends Error {
  readonly waitMs: number | undefined;

  constructor(message: string, waitMs: number | undefined) {
    super(message);
    this.waitMs = waitMs;
  }
}

/** Another conversation may be accepted: the key is right, and the model exists. */
function isOfThisRequest(status: number): boolean {
  return status === 400 || status === 413 || status === 422;
}

function isForLater(status: number): boolean {
  return status >= 500 || status === 408 || status === 409 || status === 425 || status === 429;
}

function readWait({ headers }: PostedAnswer): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, LONGEST_WAIT_MS) : undefined;
}

/** @throws UnusableAnswerError for what is no JSON, and for an error under the status 200. */
function parseDocument(text: string): unknown {
  const value = tryParseJson(text);
  if (value === undefined) throw new UnusableAnswerError(`it answered 200 without JSON: ${text.slice(0, SHOWN)}`);
  if (typeof value === 'object' && value !== null && 'error' in value && value.error !== null && value.error !== undefined)
    throw new UnusableAnswerError(`it answered 200 with an error: ${JSON.stringify(value.error).slice(0, SHOWN)}`);
  return value;
}
