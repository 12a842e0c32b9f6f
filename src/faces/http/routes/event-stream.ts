import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import type { Clock } from '../../../kernel/clock.ts';

/** Proxies close connections that are silent for a minute. */
const HEARTBEAT_MILLISECONDS = 15_000;

/** Reads no further ahead than a client takes. */
export function toTextStream(source: AsyncIterable<string | Uint8Array>): Readable {
  return Readable.from(source, { objectMode: false, highWaterMark: 64 * 1024 });
}

/** Answers with server-sent events, and with a heartbeat comment while there are none. It ends when the caller would no longer be admitted. */
export function sendEvents(reply: FastifyReply, frames: AsyncIterable<string | Uint8Array>, clock: Clock): FastifyReply {
  return (
    reply
      .header('content-type', 'text/event-stream; charset=utf-8')
      .header('cache-control', 'no-store')
      // The connection has no other use; keeping it alive would delay the server's end.
      .header('connection', 'close')
      .header('x-accel-buffering', 'no')
      .send(toTextStream(withHeartbeats(frames, { clock, reply, heartbeat: ': still here\n\n' })))
  );
}

/** Answers with texts, one a line, and with an empty line as a heartbeat while there are none. */
export function sendLines(reply: FastifyReply, texts: AsyncIterable<string>, clock: Clock): FastifyReply {
  return reply
    .header('content-type', 'application/x-ndjson; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('connection', 'close')
    .header('x-accel-buffering', 'no')
    .send(toTextStream(withHeartbeats(toLines(texts), { clock, reply, heartbeat: '\n' })));
}

async function* toLines(texts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of texts) yield `${text}\n`;
}

interface Beating {
  readonly clock: Clock;
  /** The caller is checked every 15 s. */
  readonly reply: FastifyReply;
  readonly heartbeat: string;
}

/** Reads the frames as fast as the client receives them, and ends when the caller would no longer be admitted. */
async function* withHeartbeats<Frame>(frames: AsyncIterable<Frame>, { clock, reply, heartbeat }: Beating): AsyncGenerator<Frame | string> {
  const { isStillKnown = async () => true } = reply.request;
  const iterator = frames[Symbol.asyncIterator]();
  let isLeft = false;
  try {
    let next = iterator.next();
    let askedAt = clock.now();
    while (true) {
      const heard = await awaitOrHeartbeat(next, clock);
      if (clock.now() - askedAt >= HEARTBEAT_MILLISECONDS) {
        if (!(await isStillKnown())) {
          void next.catch(() => undefined);
          isLeft = true;
          return;
        }
        askedAt = clock.now();
      }
      if (heard === 'heartbeat') yield heartbeat;
      else if (heard.done === true) return;
      else {
        yield heard.value;
        next = iterator.next();
      }
    }
  } finally {
    const ended = iterator.return?.();
    // It ends when its next frame comes, which may take long.
    if (isLeft) void ended?.catch(() => undefined);
    else await ended;
  }
}

/** Uses a timer rather than an aborted sleep: making the error of an abort would cost as much as sending the frame. */
async function awaitOrHeartbeat<Result>(next: Promise<Result>, clock: Clock): Promise<Result | 'heartbeat'> {
  const { promise, resolve } = Promise.withResolvers<'heartbeat'>();
  using _timer = clock.after(HEARTBEAT_MILLISECONDS, () => resolve('heartbeat'));
  return await Promise.race([next, promise]);
}
