import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';

/** An answer that is no success, as E2B words it. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** An error of the Connect protocol. */
export class RpcRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** HTTP statuses of Connect's codes, for calls that answer once. */
const STATUSES: Readonly<Record<string, number>> = {
  not_found: 404,
  invalid_argument: 400,
  already_exists: 409,
  internal: 500,
  unknown: 500,
  unimplemented: 501,
};

export async function jsonBody<Schema extends z.ZodType>(request: IncomingMessage, schema: Schema): Promise<z.infer<Schema>> {
  const bytes = await buffer(request);
  return schema.parse(bytes.length === 0 ? {} : JSON.parse(bytes.toString()));
}

/** The one message of a call that streams its answer. */
export async function envelopedBody<Schema extends z.ZodType>(request: IncomingMessage, schema: Schema): Promise<z.infer<Schema>> {
  const bytes = await buffer(request);
  return schema.parse(JSON.parse(bytes.subarray(5, 5 + bytes.readUInt32BE(1)).toString()));
}

const END_OF_STREAM = 2;

export function envelope(message: unknown, flags = 0): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

export function endOfStream(error?: RpcRefusal): Buffer {
  return envelope(error ? { error: { code: error.code, message: error.message } } : {}, END_OF_STREAM);
}

export function answer(response: ServerResponse, status: number, body?: unknown, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

export function answerRefusal(response: ServerResponse, error: unknown): void {
  if (response.headersSent) response.destroy();
  else if (error instanceof Refusal) answer(response, error.status, { code: error.status, message: error.message }, error.headers);
  else if (error instanceof RpcRefusal) answer(response, STATUSES[error.code] ?? 500, { code: error.code, message: error.message });
  else answer(response, 500, { code: 500, message: String(error) });
}
