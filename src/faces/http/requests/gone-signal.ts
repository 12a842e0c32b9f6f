import type { FastifyReply } from 'fastify';

/** Creates a signal that is aborted when the caller has gone. It listens to the answer, since a connection outlasts many answers. */
export function createGoneSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const onClose = (): void => {
    if (!raw.writableFinished) controller.abort(new DOMException('the caller has gone', 'AbortError'));
  };
  if (raw.closed || raw.req.socket.destroyed) onClose();
  else raw.once('close', onClose);
  return controller.signal;
}
