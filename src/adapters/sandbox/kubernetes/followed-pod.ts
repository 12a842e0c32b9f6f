import { sleep, type Clock } from '../../../kernel/clock.ts';
import type { Cluster } from './cluster.ts';
import { podState, type PodState, type PodView } from './pod-view.ts';
import type { PodWatch } from './pod-watch.ts';

/** `unseen`: nothing has been heard of it yet. `gone`: it was there, or nobody knows of it. */
export type FollowedState = PodState | { readonly kind: 'unseen' } | { readonly kind: 'gone' };

/** Events that do not come are no reason to wait for ever: after this long without any, all pods are looked at. */
const ASK_MS = 5_000;

/** One pod as it is known to be, from before it is created until it is gone. */
export class FollowedPod implements Disposable {
  readonly name: string;
  readonly #cluster: Cluster;
  readonly #watch: PodWatch;
  readonly #clock: Clock;
  readonly #following: Disposable;
  readonly #listeners = new Set<() => void>();
  #state: FollowedState = { kind: 'unseen' };
  #node: string | undefined;

  constructor(name: string, cluster: Cluster, watch: PodWatch, clock: Clock) {
    this.name = name;
    this.#cluster = cluster;
    this.#watch = watch;
    this.#clock = clock;
    this.#following = watch.follow(name, (pod) => this.#onPod(pod));
  }

  /** Undefined as long as it is on none. */
  get node(): string | undefined {
    return this.#node;
  }

  get state(): FollowedState {
    return this.#state;
  }

  /** Called at every change, until it is disposed of. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Resolves when something has been heard of it, or nothing for a while. */
  async change(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = new AbortController();
    using _listening = this.onChange(resolve);
    const asked = sleep(this.#clock, ASK_MS, AbortSignal.any([signal, over.signal])).then(() => this.#watch.look(ASK_MS));
    try {
      await Promise.race([promise, asked]);
    } finally {
      over.abort();
      asked.catch(() => undefined);
    }
  }

  async ask(signal: AbortSignal): Promise<void> {
    this.#watch.learn(this.name, await this.#cluster.pod(this.name, signal));
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
    this.#listeners.clear();
  }

  #onPod(pod: PodView | undefined): void {
    this.#node = pod?.spec.nodeName ?? this.#node;
    this.#state = pod === undefined ? { kind: 'gone' } : podState(pod);
    for (const listener of this.#listeners) listener();
  }
}
