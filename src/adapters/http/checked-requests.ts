import dns from 'node:dns';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { describeUrl, type Egress } from '../../service/access/egress.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Deadline } from '../../kernel/deadline.ts';
import { InfrastructureError, InputError, getMessage, MusterError } from '../../kernel/errors.ts';

/** The time from the request to the head of the answer, separately for each redirection. */
const HEAD_MS = 30_000;
const MOST_REDIRECTIONS = 5;
const REDIRECTIONS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export interface CheckedRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface CheckedAnswer extends Disposable {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** Disposing the answer ends it. */
  readonly body: IncomingMessage;
}

export interface CheckedRequestsOptions {
  readonly egress: Egress;
  readonly clock: Clock;
  /** Resolves names; the system's resolver when left out. */
  readonly lookup?: LookupFunction;
  /** Certificates to trust besides Node's own, in PEM. */
  readonly ca?: string;
}

/**
 * Requests on behalf of untrusted callers. Checks every URL before it is requested, redirections included, and every address when it is connected to:
 * a name that resolves to another address the second time does not evade the check. Connections are not reused, and the environment's proxy is not
 * used, as it would connect to any address.
 */
export class CheckedRequests {
  readonly #egress: Egress;
  readonly #clock: Clock;
  readonly #agents: { readonly 'http:': http.Agent; readonly 'https:': https.Agent };

  constructor({ egress, clock, lookup = dns.lookup, ca }: CheckedRequestsOptions) {
    this.#egress = egress;
    this.#clock = clock;
    const connection = { lookup: createCheckedLookup(egress, lookup), keepAlive: false };
    this.#agents = {
      'http:': new http.Agent(connection),
      'https:': new https.Agent({ ...connection, ...(ca === undefined ? {} : { ca }) }),
    };
  }

  /**
   * Returns the first answer that is not a redirection. Follows redirections for GET only.
   *
   * @param signal ends the answer's body, too. @throws InputError `egress.…`, as `Egress` does and `egress.redirections`; InfrastructureError
   * `egress.failed` when there is no answer, or not in time.
   */
  async send(url: string, request: CheckedRequest, signal: AbortSignal): Promise<CheckedAnswer> {
    let target = this.#egress.assertUrl(url);
    for (let redirections = 0; ; redirections += 1) {
      const answer = await this.#sendOne(target, request, signal);
      const { location } = answer.headers;
      if (request.method !== 'GET' || location === undefined || !REDIRECTIONS.has(answer.status)) return answer;
      answer[Symbol.dispose]();
      if (redirections === MOST_REDIRECTIONS) {
        const found = `${describeUrl(url)} redirects more than ${MOST_REDIRECTIONS} times`;
        throw new InputError('egress.redirections', `${found}; give the URL at the end of the redirections`);
      }
      target = this.#checkRedirect(target, location);
    }
  }

  #checkRedirect(from: URL, location: string): URL {
    const to = URL.parse(location, from.href);
    if (!to) throw new InputError('egress.url', `${describeUrl(from)} redirects to an invalid URL`);
    if (from.protocol === 'https:' && to.protocol !== 'https:')
      throw new InputError('egress.scheme', `${describeUrl(from)} redirects to ${describeUrl(to)}; expected https: to the end`);
    return this.#egress.assertUrl(to.href);
  }

  async #sendOne(target: URL, { method, headers, body }: CheckedRequest, signal: AbortSignal): Promise<CheckedAnswer> {
    const createTimeoutError = (): Error =>
      new InfrastructureError('egress.failed', `${describeUrl(target)} did not answer within ${HEAD_MS / 1000} s; try again later`);
    using deadline = new Deadline(this.#clock, HEAD_MS, createTimeoutError, signal);
    const { promise, resolve, reject } = Promise.withResolvers<CheckedAnswer>();
    const agent = target.protocol === 'https:' ? this.#agents['https:'] : this.#agents['http:'];
    const request = (target.protocol === 'https:' ? https : http).request(target, { method, headers, agent });
    const onAbort = (): void => void request.destroy(deadline.signal.reason);
    request.on('error', (error) => reject(toFailure(target, error, deadline.signal)));
    request.on('response', (answer) => {
      // Stays after the last read, too; the reader reports an answer that breaks off.
      answer.on('error', () => undefined);
      const end = (): void => void request.destroy(signal.reason);
      signal.addEventListener('abort', end, { once: true });
      answer.once('close', () => signal.removeEventListener('abort', end));
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        body: answer,
        [Symbol.dispose]: () => void request.destroy(),
      });
    });
    if (deadline.signal.aborted) onAbort();
    deadline.signal.addEventListener('abort', onAbort, { once: true });
    request.end(body);
    try {
      return await promise;
    } finally {
      deadline.signal.removeEventListener('abort', onAbort);
    }
  }
}

/** Passes on only allowed addresses, and fails without any. So a connection goes to an address that was checked. */
function createCheckedLookup(egress: Egress, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const all = typeof found === 'string' ? [{ address: found, family: found.includes(':') ? 6 : 4 }] : found;
      const allowed = all.filter(({ address }) => egress.allows(address));
      const [first] = allowed;
      if (first === undefined) return callback(egress.createRefusal(hostname), []);
      return options.all === true ? callback(null, allowed) : callback(null, first.address, first.family);
    });
  };
}

function toFailure(target: URL, error: Error, { aborted, reason }: AbortSignal): Error {
  if (aborted && reason instanceof Error) return reason;
  if (error instanceof MusterError) return error;
  return new InfrastructureError('egress.failed', `${describeUrl(target)} cannot be reached: ${getMessage(error)}; try again later`, {
    cause: error,
  });
}
