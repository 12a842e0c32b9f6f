import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { z } from 'zod';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { tryParseJson } from '../../../kernel/json-bounds.ts';
import { readAnswerText } from '../../http/answer-text.ts';
import { DaemonRefusal } from './daemon-error.ts';

export interface DaemonRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: object;
  /** A tar archive, in place of JSON. */
  readonly archive?: Readable;
  /** The longest time for which the connection may be silent. Without it, there is no limit. */
  readonly silenceMs?: number | undefined;
}

export const ANSWER_MAX_BYTES = 64 * 2 ** 20;
const refusalSchema = z.object({ message: z.string() });

/** Sends a request and returns the answer, its body as it comes. @throws DaemonRefusal for a status that is no success. */
export async function sendRequest(socket: string, request: DaemonRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  send(socket, request, {}, reject).on('response', resolve);
  return acceptAnswer(await promise);
}

/** Opens the connection that a request turns into: what is written goes to a program, and what is read comes from it. */
export async function openConnection(socket: string, request: DaemonRequest): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const sent = send(socket, request, { connection: 'Upgrade', upgrade: 'tcp' }, reject);
  sent.on('upgrade', (_answer, connection, first) => {
    connection.setTimeout(0);
    connection.unshift(first);
    resolve(connection);
  });
  sent.on('response', (answer) => {
    acceptAnswer(answer)
      .then(() => {
        answer.destroy();
        throw new InfrastructureError('docker.failed', 'Docker: the connection to a container goes one way only');
      })
      .catch(reject);
  });
  return promise;
}

function send(socketPath: string, request: DaemonRequest, headers: http.OutgoingHttpHeaders, fail: (error: Error) => void): ClientRequest {
  const { method, path, query = {}, json, archive, silenceMs } = request;
  const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
  const sent = http.request({
    socketPath,
    method,
    path: `${path}?${new URLSearchParams(query).toString()}`,
    host: 'docker',
    // A connection of its own: the daemon could close a kept one at the moment of the next request.
    agent: false,
    headers: {
      ...headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
      ...(archive === undefined ? {} : { 'content-type': 'application/x-tar' }),
    },
    ...(silenceMs === undefined ? {} : { timeout: silenceMs }),
  });
  sent.on('error', fail);
  sent.on('timeout', () => sent.destroy(new Error(`the daemon has been silent for ${(silenceMs ?? 0) / 1000} s`)));
  if (archive === undefined) sent.end(body);
  else archive.on('error', (error) => sent.destroy(error)).pipe(sent);
  return sent;
}

async function acceptAnswer(answer: IncomingMessage): Promise<IncomingMessage> {
  const { statusCode: status = 0 } = answer;
  if (status >= 200 && status < 300) return answer;
  const text = await readAnswerText(answer, ANSWER_MAX_BYTES);
  const said = refusalSchema.safeParse(tryParseJson(text));
  throw new DaemonRefusal(status, `HTTP status ${status}: ${said.success ? said.data.message.trim() : text.slice(0, 300)}`);
}
