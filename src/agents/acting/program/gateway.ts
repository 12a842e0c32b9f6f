import type { Duplex } from 'node:stream';
import type { Answered } from '../model/model-endpoint.ts';

/** The error that a program gets in place of an answer. */
export type Refusal =
  /** A limit of its agent is reached, and the program will be ended. */
  | { readonly kind: 'over'; readonly detail: string }
  /** The program has too many open requests. */
  | { readonly kind: 'busy'; readonly detail: string }
  /** The infrastructure has failed, and the episode is lost. */
  | { readonly kind: 'lost'; readonly detail: string };

/** The model of one episode, as its program uses it. */
export interface ProgramSession {
  readonly model: string;
  /** Answers a request. @param body of a chat completion, without the fields of streaming. @throws only the signal's reason. */
  complete(body: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Answered | Refusal>;
}

/** The address at which one program reaches its model. Disposing it ends the key and the connections. */
export interface GatewayEntrance extends Disposable {
  /** The key, valid for this session only. */
  readonly key: string;
  /** Accepts a connection of the program, over which it uses HTTP. */
  connect(connection: Duplex): void;
}

/** Speaks to programs as providers of models do. */
export interface Gateway {
  open(session: ProgramSession): GatewayEntrance;
}
