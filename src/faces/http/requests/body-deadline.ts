import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../../kernel/clock.ts';

/** For the body of a request to arrive that is held in memory until it is whole. */
const BODY_MILLISECONDS = 60_000;

/**
 * Ends connections that send their body ever so slowly. Bodies that are taken in as they come are not bound by it: they are watched by
 * the part that takes them in.
 *
 * @param isStreamed by the route's URL.
 */
export function limitBodyTime(app: FastifyInstance, clock: Clock, isStreamed: (route: string) => boolean): void {
  app.addHook('onRequest', async ({ raw, headers, routeOptions }, reply) => {
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (!hasBody || isStreamed(routeOptions.url ?? '')) return;
    const late = clock.after(BODY_MILLISECONDS, () => raw.destroy());
    raw.once('end', () => late[Symbol.dispose]());
    // Also when it was answered without being read, and never ends.
    reply.raw.once('close', () => late[Symbol.dispose]());
  });
}
