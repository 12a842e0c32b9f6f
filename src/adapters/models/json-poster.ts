import http from 'node:http';
import https from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { createAbortError } from '../../kernel/abort.ts';
import type { Clock } from '../../kernel/clock.ts';
import { readAnswerText } from '../http/answer-text.ts';

/** Token ids and log-probabilities of a long prompt take some megabytes. */
const MOST_ANSWER_BYTES = 256 * 2 ** 20;

export interface PostedAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

/** Connections to one address, kept open between requests. */
export class JsonPoster implements Disposable {
  readonly #isSecure: boolean;
  /** Read from the address once. */
  readonly #options: http.RequestOptions & { readonly agent: http.Agent };
  readonly #clock: Clock;

  constructor(address: string, clock: Clock) {
    const url = new URL(address);
    this.#isSecure = url.protocol === 'https:';
    const agent = this.#isSecure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true });
    this.#options = { ...urlToHttpOptions(url), method: 'POST', agent };
    this.#clock = clock;
  }

  /** Ends the request by itself: a signal of its own for each request would cost more. @throws Error when there is no whole answer; the signal's reason. */
  async post(headers: Readonly<Record<string, string>>, body: string, seconds: number, signal: AbortSignal): Promise<PostedAnswer> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    const given = { 'content-type': 'application/json', accept: 'application/json', ...headers };
    const options = { ...this.#options, headers: { ...given, 'content-length': Buffer.byteLength(body) } };
    const request = (this.#isSecure ? https : http).request(options);
    const abort = (): void => void request.destroy(createAbortError(signal));
    let late: Error | undefined;
    using _deadline = this.#clock.after(seconds * 1000, () => request.destroy((late = new Error(`no answer within ${seconds} s`))));
    signal.addEventListener('abort', abort, { once: true });
    request.on('error', reject);
    request.on('response', (answer) => {
      // Listened to even after the last read: the reader reports an answer that breaks off.
      answer.on('error', () => undefined);
      resolve(answer);
    });
    request.end(body);
    try {
      const answer = await promise;
      return { status: answer.statusCode ?? 0, headers: answer.headers, text: await readAnswerText(answer, MOST_ANSWER_BYTES) };
    } catch (error) {
      request.destroy();
      signal.throwIfAborted();
      throw late ?? error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  [Symbol.dispose](): void {
    this.#options.agent.destroy();
  }
}
