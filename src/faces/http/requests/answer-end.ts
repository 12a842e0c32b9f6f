import type { FastifyReply } from 'fastify';

/**
 * Calls back once an answer is over, sent or not: at once when its caller disconnected while it was being identified. Node does not report that
 * a second time.
 */
export function onAnswerEnd({ raw }: FastifyReply, leave: () => void): void {
  if (raw.closed || raw.req.socket.destroyed) leave();
  else raw.once('close', leave);
}
