import http from 'node:http';
import https from 'node:https';
import { createAbortError } from '../../kernel/abort.ts';
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
  readonly #url: URL;
  readonly #agent: http.Agent;

  constructor(url: string) {
    this.#url = new URL(url);
    this.#agent = this.#url.protocol === 'https:' ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true });
  }

  /** @throws Error when there is no whole answer; the signal's reason. */
  async post(headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<PostedAnswer> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    const given = { 'content-type': 'application/json', accept: 'application/json', ...headers };
    const options = { method: 'POST', agent: this.#agent, headers: { ...given, 'content-length': Buffer.byteLength(body) } };
    const request = (this.#url.protocol === 'https:' ? https : http).request(this.#url, options);
    const abort = (): void => void request.destroy(createAbortError(signal));
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
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
