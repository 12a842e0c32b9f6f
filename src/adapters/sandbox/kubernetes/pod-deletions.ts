import type { Clock } from '../../../kernel/clock.ts';
import type { OwnerId } from '../../../kernel/ids.ts';
import type { Cluster } from './cluster.ts';
import { ownerSelector, SANDBOX } from './pod-labels.ts';

/** The containers end at once when they are told to: this is for a node that is slow to tell them. */
export const GRACE_SECONDS = 1;
/** What is to be deleted within so long of each other goes in one request. */
const GATHER_MS = 5;
/** A selector travels in the URL, which may be some eight thousand characters long. */
const BATCH = 80;

interface Waiting {
  readonly pod: string;
  readonly sandbox: string;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Deletes pods, many by one request where many end together: as a pool closes, hundreds do. */
export class PodDeletions {
  readonly #cluster: Cluster;
  readonly #owner: OwnerId;
  readonly #clock: Clock;
  readonly #never = new AbortController().signal;
  #waiting: Waiting[] = [];

  constructor(cluster: Cluster, owner: OwnerId, clock: Clock) {
    this.#cluster = cluster;
    this.#owner = owner;
    this.#clock = clock;
  }

  /** Resolves when the API server has taken note; the node has yet to end it. */
  delete(pod: string, sandbox: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#waiting.length === 0) this.#clock.after(GATHER_MS, () => this.#flush());
    this.#waiting.push({ pod, sandbox, done: resolve, failed: reject });
    return promise;
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += BATCH) void this.#send(waiting.slice(from, from + BATCH));
  }

  /** Never rejects: whoever waits is told. */
  async #send(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch;
    try {
      if (batch.length === 1 && first) await this.#cluster.deletePod(first.pod, GRACE_SECONDS, this.#never);
      else await this.#cluster.deletePods(this.#selector(batch), GRACE_SECONDS, this.#never);
      for (const { done } of batch) done();
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }

  #selector(batch: readonly Waiting[]): string {
    return `${ownerSelector(this.#owner)},${SANDBOX} in (${batch.map(({ sandbox }) => sandbox).join(',')})`;
  }
}
