import type { Clock } from '../../../../kernel/clock.ts';
import { getMessage } from '../../../../kernel/errors.ts';
import type { OwnerId } from '../../../../kernel/ids.ts';
import { formatOwnerSelector, SANDBOX } from './pod-labels.ts';

/** Deletions that are requested within this window go in one request. */
const GATHER_MS = 5;
/** A selector travels in the URL, which may be some eight thousand characters long. */
const BATCH = 80;

/** Deletes objects of one kind. */
export interface Deleter {
  /** The plural for messages, such as "pods" in "3 pods". */
  readonly what: string;
  readonly deleteOne: (name: string, signal: AbortSignal) => Promise<void>;
  readonly deleteMany: (labelSelector: string, signal: AbortSignal) => Promise<void>;
}

/** Label with the object's sandbox. */
export interface LabelledView {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string | Date | undefined;
  };
}

interface Waiting {
  readonly name: string;
  readonly sandbox: string;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Deletes objects of sandboxes, many by one request where many end together: hundreds do when a pool closes. */
export class GatheredDeletions {
  readonly #deleter: Deleter;
  readonly #owner: OwnerId;
  readonly #clock: Clock;
  readonly #never = new AbortController().signal;
  #waiting: Waiting[] = [];

  constructor(deleter: Deleter, owner: OwnerId, clock: Clock) {
    this.#deleter = deleter;
    this.#owner = owner;
    this.#clock = clock;
  }

  /** Resolves when the API server has accepted it. @param sandbox as the object's label says. */
  delete(name: string, sandbox: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#waiting.length === 0) this.#clock.after(GATHER_MS, () => this.#flush());
    this.#waiting.push({ name, sandbox, done: resolve, failed: reject });
    return promise;
  }

  /** Deletes objects with this owner's name that this process does not know: a request whose answer was lost has made them. */
  deleteStrays(objects: readonly LabelledView[], known: ReadonlyMap<string, unknown>, log: (message: string) => void): void {
    const strays = objects.filter(({ metadata }) => !known.has(metadata.name) && metadata.deletionTimestamp === undefined);
    if (strays.length > 0) log(`${strays.length} ${this.#deleter.what} with this owner's name are unknown and are deleted`);
    for (const { metadata } of strays) {
      const deletion = this.delete(metadata.name, metadata.labels[SANDBOX] ?? '');
      deletion.catch((error: unknown) => log(getMessage(error)));
    }
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += BATCH) void this.#send(waiting.slice(from, from + BATCH));
  }

  /** Never rejects: each waiter gets its own error. */
  async #send(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch;
    try {
      if (batch.length === 1 && first) await this.#deleter.deleteOne(first.name, this.#never);
      else await this.#deleter.deleteMany(this.#buildSelector(batch), this.#never);
      for (const { done } of batch) done();
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }

  #buildSelector(batch: readonly Waiting[]): string {
    return `${formatOwnerSelector(this.#owner)},${SANDBOX} in (${batch.map(({ sandbox }) => sandbox).join(',')})`;
  }
}
