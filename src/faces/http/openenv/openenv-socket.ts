import type { WebSocket } from 'ws';
import type { OpenEnvSession, SessionAnswer } from './openenv-session.ts';

/** Messages that a peer may send before the first of them is answered; OpenEnv's clients send one. */
const MOST_WAITING = 64;
const NORMAL = 1000;
const POLICY_VIOLATION = 1008;

export interface SocketParts {
  /** Counts a message as a request. @throws what refuses it. */
  readonly count: () => Promise<void>;
  /** Returns the answer to a refused message. */
  readonly refusal: (error: unknown) => SessionAnswer;
  readonly onEnd: () => void;
}

/** `ws` passes one buffer, several, or a shared one. */
function toBuffer(data: Buffer | ArrayBuffer): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}

/** Has a session answer the messages of a socket, one after the other, until the socket is closed. */
export function serveSession(socket: WebSocket, session: OpenEnvSession, { count, refusal, onEnd }: SocketParts): void {
  let turn: Promise<void> = Promise.resolve();
  let waiting = 0;
  const answer = async (text: string): Promise<void> => {
    let answer: SessionAnswer;
    try {
      await count();
      answer = await session.answer(text);
    } catch (error) {
      answer = refusal(error);
    }
    if (socket.readyState !== socket.OPEN) return;
    if (answer.frame !== undefined) socket.send(JSON.stringify(answer.frame));
    if (answer.closes) socket.close(NORMAL);
  };
  socket.on('message', (data, isBinary) => {
    waiting += 1;
    if (waiting > MOST_WAITING) return socket.close(POLICY_VIOLATION, `more than ${MOST_WAITING} messages wait for an answer`);
    const text = isBinary ? '' : Buffer.concat([data].flat().map(toBuffer)).toString('utf8');
    const before = turn;
    turn = (async () => {
      await before;
      if (socket.readyState === socket.OPEN) await answer(text);
      waiting -= 1;
    })();
  });
  socket.once('close', () => {
    const before = turn;
    void (async () => {
      await before;
      await session.leave();
      onEnd();
    })();
  });
}
