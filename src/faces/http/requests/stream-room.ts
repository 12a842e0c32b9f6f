import type { FastifyReply } from 'fastify';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { onAnswerEnd } from './answer-end.ts';
import { TooManyRequestsError } from '../problems/refusals.ts';

/** Streams that are open at a time; undefined for any number. */
export interface StreamLimits {
  readonly ofOne: number | undefined;
  readonly ofAll: number | undefined;
}

/** A stream of an evaluation that ends soon makes room soon. */
const RETRY_SECONDS = 5;

/** Bounds the streams of events and episodes: each holds a connection and its buffers for as long as its caller likes. */
export class StreamRoom {
  readonly #limits: StreamLimits;
  readonly #open = new Map<string, number>();
  #all = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** Enters until the answer is over. @throws as `enter` does. */
  take(principal: string, reply: FastifyReply): void {
    onAnswerEnd(reply, this.enter(principal));
  }

  /** @returns what ends it, once. @throws TooManyRequestsError `stream.too-many`; InfrastructureError `stream.busy` when others take all room. */
  enter(principal: string): () => void {
    const { ofOne = Infinity, ofAll = Infinity } = this.#limits;
    const open = this.#open.get(principal) ?? 0;
    if (open >= ofOne)
      throw new TooManyRequestsError(
        'stream.too-many',
        `${open} streams of ${principal} are open, and server.streamsPerPrincipal is ${ofOne}; close some, or ask for several evaluations' states with GET /v1/evaluations`,
        RETRY_SECONDS,
      );
    if (this.#all >= ofAll)
      throw new InfrastructureError('stream.busy', `${this.#all} streams are open, and server.streams is ${ofAll}; try again`);
    this.#open.set(principal, open + 1);
    this.#all += 1;
    return () => this.#leave(principal);
  }

  #leave(principal: string): void {
    const open = this.#open.get(principal) ?? 0;
    if (open > 1) this.#open.set(principal, open - 1);
    else this.#open.delete(principal);
    this.#all -= 1;
  }
}
