import type { Clock } from '../kernel/clock.ts';
import type { EvaluationId } from '../kernel/ids.ts';

/** Wakes those who wait for something to happen to an evaluation. What happens in other processes nobody hears of here: they look again by themselves. */
export class News {
  readonly #waiting = new Map<EvaluationId, Set<() => void>>();

  announce(evaluation: EvaluationId): void {
    for (const wake of this.#waiting.get(evaluation) ?? []) wake();
  }

  /** Listens from now on, so that nothing is missed between looking and waiting. */
  listen(evaluation: EvaluationId): Listener {
    return new Listener((listener) => {
      const listeners = this.#waiting.get(evaluation) ?? new Set();
      this.#waiting.set(evaluation, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) this.#waiting.delete(evaluation);
      };
    });
  }
}

/** Somebody who looks, waits and looks again. */
export class Listener implements Disposable {
  readonly #leave: () => void;
  #isNews = false;
  #wake: (() => void) | undefined;

  constructor(join: (listener: () => void) => () => void) {
    this.#leave = join(() => {
      this.#isNews = true;
      this.#wake?.();
    });
  }

  /** Resolves when there was news since the last call, after `milliseconds`, or when the signal is aborted, whichever comes first. */
  async next(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = clock.after(milliseconds, resolve);
    const onAbort = (): void => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    if (!this.#isNews && !signal.aborted) await promise;
    signal.removeEventListener('abort', onAbort);
    timer[Symbol.dispose]();
    this.#wake = undefined;
    this.#isNews = false;
  }

  [Symbol.dispose](): void {
    this.#leave();
  }
}
