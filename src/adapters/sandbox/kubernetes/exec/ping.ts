import { WebSocket } from 'ws';

/** Whether the other end of a connection answers before the signal is aborted. */
export async function isAnsweringPing(socket: WebSocket, signal: AbortSignal): Promise<boolean> {
  if (socket.readyState !== WebSocket.OPEN || signal.aborted) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const [yes, no] = [(): void => resolve(true), (): void => resolve(false)];
  socket.once('pong', yes).once('close', no);
  signal.addEventListener('abort', no, { once: true });
  socket.ping();
  try {
    return await promise;
  } finally {
    socket.off('pong', yes).off('close', no);
    signal.removeEventListener('abort', no);
  }
}
