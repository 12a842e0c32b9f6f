import { sleep, type Clock } from '../../../../kernel/clock.ts';
import type { ObjectKind, WatchedView } from './object-kind.ts';
import type { ObjectWatch } from './object-watch.ts';

/** `unseen`: not reported yet. `gone`: it was there, or the API server does not know it. */
export type Followed<State> = State | { readonly kind: 'unseen' } | { readonly kind: 'gone' };

/** Events may be missed. After this long without any, all objects are listed. */
const ASK_MS = 5_000;

export interface Following<View extends WatchedView, State> extends Pick<ObjectKind<View, State>, 'get' | 'readState'> {
  readonly watch: ObjectWatch<View>;
  readonly clock: Clock;
}

/** The present knowledge about one object, from before its creation until it is gone. */
export class FollowedObject<View extends WatchedView, State> implements Disposable {
  readonly name: string;
  readonly #options: Following<View, State>;
  readonly #following: Disposable;
  readonly #listeners = new Set<() => void>();
  #state: Followed<State> = { kind: 'unseen' };
  #seen: View | undefined;

  constructor(name: string, options: Following<View, State>) {
    this.name = name;
    this.#options = options;
    this.#following = options.watch.follow(name, (view) => this.#onView(view));
  }

  /** The latest view. The object may be gone since. */
  get seen(): View | undefined {
    return this.#seen;
  }

  get state(): Followed<State> {
    return this.#state;
  }

  /** Called at every change, until disposed. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Resolves when its state was reported, or when there was no report for a while. */
  async change(signal: AbortSignal): Promise<void> {
    const { clock, watch } = this.#options;
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = new AbortController();
    using _listening = this.onChange(resolve);
    const asked = sleep(clock, ASK_MS, AbortSignal.any([signal, over.signal])).then(() => watch.look(ASK_MS));
    try {
      await Promise.race([promise, asked]);
    } finally {
      over.abort();
      asked.catch(() => undefined);
    }
  }

  async ask(signal: AbortSignal): Promise<void> {
    const { watch, get } = this.#options;
    watch.learn(this.name, await get(this.name, signal));
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
    this.#listeners.clear();
  }

  #onView(view: View | undefined): void {
    this.#seen = view ?? this.#seen;
    this.#state = view === undefined ? { kind: 'gone' } : this.#options.readState(view);
    for (const listener of this.#listeners) listener();
  }
}
