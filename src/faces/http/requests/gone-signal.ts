import type { FastifyReply } from 'fastify';

/** Aborted when nobody waits for the answer any more. It is the answer that is listened to: a connection outlasts many of them. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const onClose = (): void => {
    if (!raw.writableFinished) controller.abort(new DOMException('the caller has gone', 'AbortError'));
  };
  if (raw.closed || raw.req.socket.destroyed) onClose();
  else raw.once('close', onClose);
  return controller.signal;
}
