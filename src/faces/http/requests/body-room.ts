import type { FastifyInstance } from 'fastify';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { onAnswerEnd } from './answer-end.ts';
import type { Clock } from '../../../kernel/clock.ts';

/** The largest number of bodies of the greatest length that are in memory at a time; far more of ordinary length. */
const GREATEST_BODIES = 64;

export interface BodyRoomOptions {
  readonly maxBodyBytes: number;
  /** Whether a route, by its URL, reads its body as it comes: that needs no room. */
  readonly isStreamed: (route: string) => boolean;
}

/**
 * Bounds what the bodies of all requests hold in memory together, from the head of a request to the end of its answer, however many
 * connections there are and however slowly they send. Set up behind the guard, so that a caller without permission takes no room.
 */
export function limitBodyRoom(app: FastifyInstance, { maxBodyBytes, isStreamed }: BodyRoomOptions): void {
  const most = GREATEST_BODIES * maxBodyBytes;
  let held = 0;
  app.addHook('onRequest', async ({ headers, routeOptions }, reply) => {
    if (isStreamed(routeOptions.url ?? '')) return;
    // Longer bodies are refused before they are read.
    const bytes =
      headers['transfer-encoding'] === undefined ? Math.min(Number(headers['content-length'] ?? 0), maxBodyBytes) : maxBodyBytes;
    if (bytes === 0) return;
    if (held + bytes > most) {
      // The rest that the caller sends is not read.
      reply.header('connection', 'close');
      const why = `the bodies of other requests take all of the ${most} bytes for bodies; try again`;
      throw new InfrastructureError('request.busy', why);
    }
    held += bytes;
    onAnswerEnd(reply, () => (held -= bytes));
  });
}

/** The longest time in which the body of a request has to arrive when it is held in memory until it is whole. */
const BODY_MILLISECONDS = 60_000;

/**
 * Ends connections that send their body too slowly, except bodies that a route reads as they come: that route watches them itself.
 *
 * @param isStreamed by the route's URL.
 */
export function limitBodyTime(app: FastifyInstance, clock: Clock, isStreamed: (route: string) => boolean): void {
  app.addHook('onRequest', async ({ raw, headers, routeOptions }, reply) => {
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (!hasBody || isStreamed(routeOptions.url ?? '')) return;
    const late = clock.after(BODY_MILLISECONDS, () => raw.destroy());
    raw.once('end', () => late[Symbol.dispose]());
    // This also stops the timer of a body that was not read before the answer, and so never ends.
    reply.raw.once('close', () => late[Symbol.dispose]());
  });
}
