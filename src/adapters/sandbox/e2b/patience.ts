import { raceWithAbort } from '../../../kernel/abort.ts';
import { sleep, type Clock } from '../../../kernel/clock.ts';
import { computeBackoffMs } from '../../../pool/planning/backoff.ts';
import { isPassing } from './failure.ts';

/** Waits of 0.5 to 8 s between them, some 16 s in all: longer than a burst against the rate limit, shorter than anyone's patience. */
const ATTEMPTS = 6;

/**
 * Does something that may be done more than once, again after a failure that may pass.
 *
 * A request of the SDK that is called off between its answer's head and body never ends, so nothing here relies on its seeing the signal.
 *
 * @throws the last failure; the signal's reason when aborted.
 */
export async function retryPatiently<T>(clock: Clock, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await raceWithAbort(act(), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (attempt === ATTEMPTS || !isPassing(error)) throw error;
      await sleep(clock, computeBackoffMs(attempt + 1), signal);
    }
  }
}
