import { raceWithAbort } from '../../../../kernel/abort.ts';
import { InfrastructureError, getMessage } from '../../../../kernel/errors.ts';
import { Once } from '../../../../kernel/once.ts';
import type { ClaimSettings, PodTemplate } from '../settings/pod-template.ts';
import type { Obstacle, SandboxSpec } from '../../../../pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../../../../pool/ports/template.ts';
import { FollowedObject } from '../cluster/followed-object.ts';
import type { ObjectKind } from '../cluster/object-kind.ts';
import { ObjectWatch } from '../cluster/object-watch.ts';
import type { Owning } from '../cluster/owned-objects.ts';
import { createPodKind, type FollowedPod } from '../pods/pod-kind.ts';
import { namePod } from '../cluster/pod-labels.ts';
import { waitUntilReady } from '../pods/pod-readiness.ts';
import { mergeObstacles, type PodSupply, type WantedPod } from '../pods/pod-supply.ts';
import type { PodState, PodView } from '../cluster/pod-view.ts';
import { isGone, waitUntilGone } from '../pods/removal.ts';
import type { AgentSandbox } from './agent-sandbox.ts';
import { waitUntilBound, waitUntilPodExists } from './claim-binding.ts';
import type { Claims, FollowedClaim } from './claim-kind.ts';
import { createClaimManifest } from './claim-manifest.ts';
import { findWarmPool, OwnWarmPool, type WarmPool } from './warm-pool.ts';

export interface ClaimedPodsOptions extends Owning {
  readonly api: AgentSandbox;
  readonly claims: Claims;
}

/** Values that exist once the first claim may be made. */
interface Runtime {
  readonly warmPool: WarmPool;
  readonly watch: ObjectWatch<PodView>;
}

interface Held {
  readonly claim: FollowedClaim;
  pod: FollowedPod | undefined;
}

/** A claim is removed after its sandbox, and that after its pod: the garbage collector takes one step after the other. */
const COLLECTED_MS = 30_000;

/**
 * Pods that SIG agent-sandbox's controller makes, warm ones in advance, and that are claimed one by one. A claimed pod is never reused: it is deleted
 * with its claim.
 */
export class ClaimedPods implements PodSupply {
  readonly #options: ClaimedPodsOptions;
  readonly #kind: ObjectKind<PodView, PodState>;
  readonly #pod: PodTemplate;
  readonly #own: OwnWarmPool | undefined;
  readonly #warmPool: string;
  readonly #held = new Set<Held>();
  readonly #closing = new AbortController();
  readonly #runtime = new Once(() => this.#prepare(this.#closing.signal));

  constructor(options: ClaimedPodsOptions, template: SandboxTemplate, pod: PodTemplate, settings: ClaimSettings) {
    const { cluster, api, clock, owner } = options;
    this.#options = options;
    this.#kind = createPodKind(cluster);
    this.#pod = pod;
    this.#own = 'warmPool' in settings ? undefined : new OwnWarmPool(api, clock, owner, template, pod, settings.replicas);
    this.#warmPool = 'warmPool' in settings ? settings.warmPool : (this.#own?.name ?? '');
  }

  get isHolding(): boolean {
    return this.#held.size > 0 || this.#own?.isMade === true;
  }

  want(spec: SandboxSpec): WantedPod {
    const held: Held = { claim: this.#options.claims.follow(namePod(this.#options.owner, spec.id)), pod: undefined };
    this.#held.add(held);
    return { takeReadyPod: (signal) => this.#claim(held, spec, signal), remove: () => this.#remove(held, spec) };
  }

  obstacles(): readonly Obstacle[] {
    return mergeObstacles(
      Array.from(this.#held, ({ claim, pod }) => (pod?.state.kind === 'pending' ? pod.state.obstacle : getObstacle(claim.state))),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new InfrastructureError('sandbox.provider-closed', 'the sandbox provider has been closed'));
    const runtime = await this.#runtime.result();
    await runtime?.watch[Symbol.asyncDispose]();
    await this.#own?.remove().catch((error: unknown) => this.#options.log(`${getMessage(error)}: it is left to the sweep`));
  }

  async #claim(held: Held, spec: SandboxSpec, signal: AbortSignal): Promise<FollowedPod> {
    const { api, clock, owner } = this.#options;
    const { warmPool, watch } = await raceWithAbort(this.#runtime.run(), signal);
    const serverTime = clock.date().getTime() + warmPool.aheadMs;
    const manifest = createClaimManifest(spec, this.#pod, { owner, warmPool: warmPool.name, serverTime });
    await api.create('sandboxclaims', manifest, signal);
    const patience = { seconds: this.#pod.unschedulableSeconds, since: clock.now(), clock };
    const name = await waitUntilBound(held.claim, patience, signal);
    const pod: FollowedPod = new FollowedObject(name, { ...this.#kind, watch, clock });
    held.pod = pod;
    // A warm pod existed before it was followed; a cold one may not exist yet, and is reported when it does.
    const found = await this.#kind.get(name, signal);
    if (found) watch.learn(name, found);
    await waitUntilPodExists(held.claim, pod, patience, signal);
    await waitUntilReady(pod, this.#pod, clock, signal);
    return pod;
  }

  async #prepare(signal: AbortSignal): Promise<Runtime> {
    const { cluster, api, clock, log } = this.#options;
    await this.#own?.make(signal);
    const warmPool = await findWarmPool(api, this.#warmPool, clock, signal);
    const watch = new ObjectWatch({ ...this.#kind, config: cluster.config, labelSelector: warmPool.podSelector, clock, log });
    watch.start();
    return { warmPool, watch };
  }

  async #remove(held: Held, { id }: SandboxSpec): Promise<void> {
    const { claims, clock } = this.#options;
    const { claim, pod } = held;
    if (!isGone(claim)) {
      await claims.delete(claim, id);
      await waitUntilGone(claim, `the claim ${claim.name}`, (signal) => this.#force(pod, signal), clock, COLLECTED_MS);
    }
    // A sandbox that was taken from its claim by another client leaves its pod behind.
    if (pod && !isGone(pod)) await waitUntilGone(pod, `the pod ${pod.name}`, (signal) => this.#force(pod, signal), clock);
    pod?.[Symbol.dispose]();
    claims.letGo(claim);
    this.#held.delete(held);
  }

  async #force(pod: FollowedPod | undefined, signal: AbortSignal): Promise<void> {
    if (pod) await this.#options.cluster.deletePod(pod.name, 0, signal);
  }
}

function getObstacle(state: FollowedClaim['state']): Omit<Obstacle, 'sandboxes'> | undefined {
  const wait = state.kind === 'waiting' ? state.wait : state.kind === 'bound' ? state.trouble : undefined;
  return wait && { kind: 'unclaimed', detail: wait.detail };
}
