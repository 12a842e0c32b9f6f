import type { Clock } from '../../../../kernel/clock.ts';
import type { OwnerId, SandboxId } from '../../../../kernel/ids.ts';
import type { Cluster } from './cluster.ts';
import { FollowedObject } from './followed-object.ts';
import { GatheredDeletions, type LabelledView } from './gathered-deletions.ts';
import type { ObjectKind, WatchedView } from './object-kind.ts';
import { ObjectWatch } from './object-watch.ts';
import { formatOwnerSelector } from './pod-labels.ts';

export interface Owning {
  readonly cluster: Cluster;
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** Reports problems that make no operation fail. */
  readonly log: (message: string) => void;
}

/** The objects of one kind that an owner has made in a namespace: watched together, and deleted together where many end together. */
export class OwnedObjects<View extends WatchedView & LabelledView, State> implements AsyncDisposable {
  readonly #kind: ObjectKind<View, State>;
  readonly #clock: Clock;
  readonly #watch: ObjectWatch<View>;
  readonly #deletions: GatheredDeletions;
  readonly #followed = new Map<string, FollowedObject<View, State>>();

  constructor(kind: ObjectKind<View, State>, { cluster, owner, clock, log }: Owning) {
    this.#kind = kind;
    this.#clock = clock;
    this.#deletions = new GatheredDeletions(kind, owner, clock);
    this.#watch = new ObjectWatch({
      ...kind,
      config: cluster.config,
      labelSelector: formatOwnerSelector(owner),
      clock,
      log,
      onList: (objects) => this.#deletions.deleteStrays(objects, this.#followed, log),
    });
  }

  /** Objects that still exist, as far as is known. */
  get all(): Iterable<FollowedObject<View, State>> {
    return this.#followed.values();
  }

  get isHolding(): boolean {
    return this.#followed.size > 0;
  }

  /** Follows an object from before it is made until it is released. */
  follow(name: string): FollowedObject<View, State> {
    this.#watch.start();
    const { readState, get } = this.#kind;
    const followed = new FollowedObject<View, State>(name, { watch: this.#watch, clock: this.#clock, readState, get });
    this.#followed.set(name, followed);
    return followed;
  }

  /** Resolves when the API server has accepted the deletion. */
  delete({ name }: FollowedObject<View, State>, sandbox: SandboxId): Promise<void> {
    return this.#deletions.delete(name, sandbox);
  }

  /** Called when nothing of it is left. */
  letGo(followed: FollowedObject<View, State>): void {
    followed[Symbol.dispose]();
    this.#followed.delete(followed.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch[Symbol.asyncDispose]();
  }
}
