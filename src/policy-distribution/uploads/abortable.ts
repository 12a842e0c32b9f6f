import { raceWithAbort } from '../../kernel/abort.ts';

/** An iteration that can be given up while the next item has not come. */
export interface AbortableIteration<Item> {
  /** @throws the signal's reason once it is aborted; errors of the iteration. */
  next(signal: AbortSignal): Promise<IteratorResult<Item, unknown>>;
  /** Releases the source without waiting for it: one that hangs would never answer. */
  leave(): void;
}

export function makeAbortable<Item>(source: AsyncIterable<Item>): AbortableIteration<Item> {
  const iterator = source[Symbol.asyncIterator]();
  return {
    next: (signal) => raceWithAbort(iterator.next(), signal),
    leave() {
      // The caller has left: it needs neither the result nor the error.
      iterator.return?.().then(undefined, () => undefined);
    },
  };
}
