import type { StoredEvent } from '../../../evaluation-store/event-log.ts';
import { sleep, type Clock } from '../../../kernel/clock.ts';

/** Proxies close connections that say nothing for a minute. */
const HEARTBEAT_MILLISECONDS = 15_000;

/** Events as a stream of server-sent events, with a comment now and then while nothing happens. It is read as fast as the client takes it. */
export async function* eventStream(events: AsyncIterable<StoredEvent>, clock: Clock): AsyncGenerator<string> {
  const iterator = events[Symbol.asyncIterator]();
  try {
    let next = iterator.next();
    while (true) {
      const heard = await heartbeatOr(next, clock);
      if (heard === 'heartbeat') yield ': still here\n\n';
      else if (heard.done === true) return;
      else {
        yield frame(heard.value);
        next = iterator.next();
      }
    }
  } finally {
    await iterator.return?.();
  }
}

async function heartbeatOr<Result>(next: Promise<Result>, clock: Clock): Promise<Result | 'heartbeat'> {
  const heard = new AbortController();
  const heartbeat = sleep(clock, HEARTBEAT_MILLISECONDS, heard.signal).then(
    () => 'heartbeat' as const,
    () => 'heartbeat' as const,
  );
  try {
    return await Promise.race([next, heartbeat]);
  } finally {
    heard.abort();
  }
}

/** JSON has no line breaks in it, so it is one line of data. */
function frame({ sequence, type, data, at }: StoredEvent): string {
  return `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify({ sequence, type, at: at.toISOString(), data })}\n\n`;
}
