import type { Exposure } from '../ports/exposure.ts';
import type { WaiterObservation } from '../planning/plan-terms.ts';

interface Waiter<T> extends WaiterObservation {
  readonly serve: (value: T) => void;
  readonly refuse: (error: Error) => void;
}

/** Callers that wait for a lease, in order of arrival. Joining, leaving and serving take constant time. */
export class LeaseQueue<T> implements Iterable<WaiterObservation> {
  readonly #waiters = new Map<number, Waiter<T>>();
  #lastId = 0;

  get size(): number {
    return this.#waiters.size;
  }

  [Symbol.iterator](): Iterator<WaiterObservation> {
    return this.#waiters.values();
  }

  /** Resolves when served; rejects when refused, or with the signal's reason when it aborts before. */
  join(wanted: Exposure, since: number, signal: AbortSignal): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (signal.aborted) {
      reject(signal.reason);
      return promise;
    }
    const id = ++this.#lastId;
    const leave = (): void => {
      this.#waiters.delete(id);
      signal.removeEventListener('abort', abort);
    };
    const abort = (): void => {
      leave();
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    this.#waiters.set(id, {
      id,
      since,
      wanted,
      serve: (value) => {
        leave();
        resolve(value);
      },
      refuse: (error) => {
        leave();
        reject(error);
      },
    });
    return promise;
  }

  observeFirst(): WaiterObservation | undefined {
    return this.#waiters.values().next().value;
  }

  get(id: number): WaiterObservation | undefined {
    return this.#waiters.get(id);
  }

  /** Has no effect when the waiter has left. */
  serve(id: number, value: T): void {
    this.#waiters.get(id)?.serve(value);
  }

  /** Has no effect when the waiter has left. */
  refuse(id: number, error: Error): void {
    this.#waiters.get(id)?.refuse(error);
  }
}
