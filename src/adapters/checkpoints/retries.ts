import { sleep, type Clock } from '../../kernel/clock.ts';
import { InfrastructureError } from '../../kernel/errors.ts';

/** Consecutive attempts without a new byte, and the wait after the first of them; it doubles each time. */
export const MOST_FRUITLESS = 4;
const RETRY_MS = 1000;

export function waitBeforeRetry(clock: Clock, failures: number, signal: AbortSignal): Promise<void> {
  return sleep(clock, RETRY_MS * 2 ** failures, signal);
}

/** Retries until there is an answer, or a retry is useless. */
export async function retry<Value>(clock: Clock, signal: AbortSignal, ask: () => Promise<Value>): Promise<Value> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof InfrastructureError) || failures === MOST_FRUITLESS) throw error;
      await waitBeforeRetry(clock, failures, signal);
    }
  }
}

/** Creates the error for failures that may be retried. */
export function createBrokenReadError(address: string, why: string, cause?: unknown): InfrastructureError {
  return new InfrastructureError('checkpoint.read', `checkpoint: reading ${address} failed: ${why}`, { cause });
}
