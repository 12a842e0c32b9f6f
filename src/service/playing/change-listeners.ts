import { Listener } from './news.ts';

/** Wakes waits for a change of one thing among many. Changes by other processes are not announced, so a wait also checks by itself. */
export class ChangeListeners<Id extends string> {
  readonly #listeners = new Map<Id, Set<() => void>>();

  notify(id: Id): void {
    for (const wake of this.#listeners.get(id) ?? []) wake();
  }

  notifyAll(): void {
    for (const id of this.#listeners.keys()) this.notify(id);
  }

  listen(id: Id): Listener {
    return new Listener((wake) => {
      const listeners = this.#listeners.get(id) ?? new Set();
      this.#listeners.set(id, listeners.add(wake));
      return () => {
        listeners.delete(wake);
        if (listeners.size === 0) this.#listeners.delete(id);
      };
    });
  }
}
