import { sleep, type Clock } from '../../kernel/clock.ts';
import { InfrastructureError } from '../../kernel/errors.ts';

/** Attempts in a row that bring nothing, and the wait after the first of them; it doubles each time. */
export const MOST_FRUITLESS = 4;
const RETRY_MS = 1000;

export function waitBeforeRetry(clock: Clock, failures: number, signal: AbortSignal): Promise<void> {
  return sleep(clock, RETRY_MS * 2 ** failures, signal);
}

/** Until there is an answer, or no use in asking. */
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

/** What may be tried again. */
export function createBrokenReadError(address: string, why: string, cause?: unknown): InfrastructureError {
  return new InfrastructureError('checkpoint.read', `checkpoint: reading ${address} failed: ${why}`, { cause });
}
