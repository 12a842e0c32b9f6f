import type { Answered, Completion } from '../../../agents/acting/model/model-endpoint.ts';
import type { Refusal } from '../../../agents/acting/program/gateway.ts';

/** The part of a program's request that is read. */
export type ReadRequest =
  | {
      readonly kind: 'request';
      /** The body of a chat completion. */
      readonly body: Readonly<Record<string, unknown>>;
      readonly isStreamed: boolean;
      readonly write: AnswerWriter;
    }
  | { readonly kind: 'misfit'; readonly detail: string };

/** Writes the answer to one request. */
export interface AnswerWriter {
  document(completion: Completion): object;
  /** Formats the same answer as events, in their order. */
  events(completion: Completion): Iterable<ServerEvent>;
}

export interface ServerEvent {
  readonly event?: string;
  readonly data: object | '[DONE]';
}

/** A protocol between programs and providers of models. */
export interface Dialect {
  /** @param id for the answer, without its prefix. */
  read(request: unknown, terms: DialectTerms): ReadRequest;
  error(problem: Problem): object;
}

export interface DialectTerms {
  /** The id of the answer, without a prefix. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** The program's earlier requests, by the ids of their answers: one of the dialects continues from there. */
  readonly past: Map<string, readonly object[]>;
}

/** Why there is no answer. */
export interface Problem {
  readonly status: number;
  /** The type as OpenAI and Anthropic name it. */
  readonly type:
    'invalid_request_error' | 'authentication_error' | 'not_found_error' | 'rate_limit_error' | 'permission_error' | 'api_error';
  readonly code: string;
  readonly detail: string;
}

/** Returns the error that a program gets when its model has not answered. */
export function toProblem(answered: Exclude<Answered, Completion> | Refusal): Problem {
  const { detail } = answered;
  switch (answered.kind) {
    case 'context-exceeded':
      return { status: 400, type: 'invalid_request_error', code: 'context_length_exceeded', detail };
    case 'request-refused':
      return { status: 400, type: 'invalid_request_error', code: 'request_refused', detail };
    case 'over':
      return { status: 403, type: 'permission_error', code: 'agent_limit', detail };
    case 'busy':
      return { status: 429, type: 'rate_limit_error', code: 'too_many_requests', detail };
    case 'lost':
      return { status: 503, type: 'api_error', code: 'model_unavailable', detail };
  }
}

/** Keeps the fields that have a value. */
export function dropAbsent(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

/** Characters of one event: a program shows an answer as it arrives. */
const PIECE = 4096;

export function cutPieces(text: string): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / PIECE) }, (_, i) => text.slice(i * PIECE, (i + 1) * PIECE));
}
