import type { FastifyRequest } from 'fastify';

/** Aborted when nobody waits for the answer any more. */
export function goneSignal({ raw }: FastifyRequest): AbortSignal {
  const controller = new AbortController();
  const { socket } = raw;
  const onClose = (): void => controller.abort(new DOMException('the caller has gone', 'AbortError'));
  if (socket.destroyed) onClose();
  else socket.once('close', onClose);
  raw.once('close', () => {
    if (!raw.complete) onClose();
  });
  return controller.signal;
}
