/** Callers that wait for work. They are woken in order of arrival, as many as there is work for. */
export class Waiters {
  readonly #waiting = new Set<() => void>();

  get count(): number {
    return this.#waiting.size;
  }

  /** Resolves when woken or when the signal is aborted; the caller checks again either way. */
  wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (signal.aborted) {
      resolve();
      return promise;
    }
    const wake = (): void => {
      this.#waiting.delete(wake);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    this.#waiting.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    return promise;
  }

  wake(count: number): void {
    for (const wake of this.#waiting) {
      if (count <= 0) return;
      count -= 1;
      wake();
    }
  }
}
