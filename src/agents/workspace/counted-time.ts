import { MOST_WAITING_MS } from './command.ts';

/**
 * Measures the time of an agent's actions that counts: all but the time that their commands wait for a processor, so that a busy machine cuts no
 * agent. The time that is left out is bounded, because an agent can make its commands wait for each other.
 */
export class CountedTime {
  #waitingLeftMs = MOST_WAITING_MS;

  /** @param tookMs of an action. @param waitedSeconds of its commands. @returns the milliseconds that count. */
  count(tookMs: number, waitedSeconds: number): number {
    const waited = Math.min(tookMs, 1000 * waitedSeconds, this.#waitingLeftMs);
    this.#waitingLeftMs -= waited;
    return tookMs - waited;
  }
}
