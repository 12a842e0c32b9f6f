import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { createAbortError } from '../../../kernel/abort.ts';

// Requests go through the environment's proxy, as those of the stores' own clients do.
const AGENTS = { http: new http.Agent({ proxyEnv: process.env }), https: new https.Agent({ proxyEnv: process.env }) };

export interface StoreRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Sends a request and returns the answer, with its body unread and not decompressed.
 *
 * @param signal ends the request until there is an answer; afterwards the caller destroys the body.
 */
export async function sendRequest(url: URL, { method, headers, body }: StoreRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const [client, agent] = url.protocol === 'http:' ? [http, AGENTS.http] : [https, AGENTS.https];
  const request = client.request(url, { method, headers, agent });
  const onAbort = (): void => void request.destroy(createAbortError(signal));
  request.on('error', reject);
  request.on('response', (answer) => {
    // Listened to even after the last read: the reader reports an answer that breaks off.
    answer.on('error', () => undefined);
    resolve(answer);
  });
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  request.end(body);
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
