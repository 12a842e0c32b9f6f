import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { abortError } from '../../../kernel/abort.ts';

// Through the environment's proxy where there is one, as the stores' own clients do.
const AGENTS = { http: new http.Agent({ proxyEnv: process.env }), https: new https.Agent({ proxyEnv: process.env }) };

/**
 * The answer to a GET, its body as it comes: nothing is decompressed on the way.
 *
 * @param signal ends the request while there is no answer; afterwards the body is the caller's to destroy.
 */
export async function getStored(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const [client, agent] = url.protocol === 'http:' ? [http, AGENTS.http] : [https, AGENTS.https];
  const request = client.request(url, { headers, agent });
  const onAbort = (): void => void request.destroy(abortError(signal));
  request.on('error', reject);
  request.on('response', (answer) => {
    // Listened to even after the last read: the reader reports an answer that breaks off.
    answer.on('error', () => undefined);
    resolve(answer);
  });
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  request.end();
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
