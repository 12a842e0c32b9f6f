import type { Clock } from '../../../../kernel/clock.ts';
import type { OwnerId, SandboxId } from '../../../../kernel/ids.ts';
import type { Cluster } from '../cluster.ts';
import { FollowedObject } from '../followed-object.ts';
import { GatheredDeletions } from '../gathered-deletions.ts';
import { ObjectWatch } from '../object-watch.ts';
import { ownerSelector } from '../pod-labels.ts';
import { AgentSandbox } from './agent-sandbox.ts';
import type { FollowedClaim } from './claim-binding.ts';
import { claimState, parseClaim, type ClaimView } from './claim-view.ts';

export interface ClaimsOptions {
  readonly cluster: Cluster;
  readonly owner: OwnerId;
  readonly clock: Clock;
  readonly log: (message: string) => void;
}

const CLAIMS = 'sandboxclaims';

/** The claims of one owner in a namespace: watched together, and deleted together where many end together. */
export class Claims implements AsyncDisposable {
  readonly api: AgentSandbox;
  readonly #clock: Clock;
  readonly #watch: ObjectWatch<ClaimView>;
  readonly #deletions: GatheredDeletions;
  readonly #followed = new Map<string, FollowedClaim>();

  constructor({ cluster, owner, clock, log }: ClaimsOptions) {
    const api = new AgentSandbox(cluster);
    this.api = api;
    this.#clock = clock;
    this.#deletions = new GatheredDeletions(
      {
        what: 'claims',
        one: (name, signal) => api.delete(CLAIMS, name, signal),
        many: (selector, signal) => api.deleteAll(CLAIMS, selector, signal),
      },
      owner,
      clock,
    );
    this.#watch = new ObjectWatch({
      config: cluster.config,
      path: api.pathOf(CLAIMS),
      labelSelector: ownerSelector(owner),
      parse: parseClaim,
      list: (selector, signal) => api.list(CLAIMS, parseClaim, selector, signal),
      clock,
      log,
      onList: (claims) => this.#deletions.deleteStrays(claims, this.#followed, log),
    });
  }

  get isHolding(): boolean {
    return this.#followed.size > 0;
  }

  /** From before it is made until it is let go of. */
  follow(name: string): FollowedClaim {
    this.#watch.start();
    const get = async (claim: string, signal: AbortSignal): Promise<ClaimView | undefined> => {
      const found = await this.api.get(CLAIMS, claim, signal);
      return found === undefined ? undefined : parseClaim(found);
    };
    const followed: FollowedClaim = new FollowedObject(name, { watch: this.#watch, clock: this.#clock, stateOf: claimState, get });
    this.#followed.set(name, followed);
    return followed;
  }

  /** Once nothing is left of it. */
  letGo(claim: FollowedClaim): void {
    claim[Symbol.dispose]();
    this.#followed.delete(claim.name);
  }

  /** Resolves when the API server has taken note. */
  delete(claim: FollowedClaim, sandbox: SandboxId): Promise<void> {
    return this.#deletions.delete(claim.name, sandbox);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch[Symbol.asyncDispose]();
  }
}
