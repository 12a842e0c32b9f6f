import { raceWithAbort } from '../../../kernel/abort.ts';
import { formatCanonicalJson } from '../../../kernel/canonical-json.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { getMessage } from '../../../kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import { Once } from '../../../kernel/once.ts';
import type { PodLocation, PodTemplate } from './settings/pod-template.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import { AgentSandbox } from './claims/agent-sandbox.ts';
import { createClaimKind, type Claims } from './claims/claim-kind.ts';
import { nameOwnPool } from './claims/claim-manifest.ts';
import { ClaimedPods } from './claims/claimed-pods.ts';
import { Cluster } from './cluster/cluster.ts';
import { ExecLine } from './exec/exec-line.ts';
import { Heartbeats } from './exec/heartbeats.ts';
import { MadePods } from './pods/made-pods.ts';
import { NodeCaches } from './files/node-caches.ts';
import { createOrphanKinds, sweepOrphans } from './orphan-sweep.ts';
import { OwnedObjects } from './cluster/owned-objects.ts';
import { OwnerLease } from './pods/owner-lease.ts';
import type { PodSupply } from './pods/pod-supply.ts';

export interface SiteOptions {
  readonly owner: OwnerId;
  readonly clock: Clock;
  readonly log: (message: string) => void;
}

/** A dead owner on another machine is only recognised when its lease has expired: later than at the start. */
const SWEEP_MS = 120_000;

/** The place where pods are made: one namespace of one cluster, with this owner's record in it. */
export class NamespaceSite implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly agentSandbox: AgentSandbox;
  readonly caches: NodeCaches;
  readonly #options: SiteOptions;
  readonly #heartbeats: Heartbeats;
  readonly #claims: Claims;
  /** Supplies by the description of their pods. */
  readonly #supplies = new Map<string, PodSupply>();
  readonly #closing = new AbortController();
  #usesClaims = false;
  readonly #lease = new Once(() => {
    const { owner, clock, log } = this.#options;
    return OwnerLease.open(this.cluster, owner, clock, log, this.#closing.signal);
  });
  #sweepTimer: Disposable | undefined;
  #sweep: Promise<void> = Promise.resolve();

  constructor(pod: PodLocation, options: SiteOptions) {
    this.#options = options;
    this.cluster = new Cluster(pod, options.clock);
    this.#heartbeats = new Heartbeats(options.clock);
    this.agentSandbox = new AgentSandbox(this.cluster);
    this.#claims = new OwnedObjects(createClaimKind(this.agentSandbox), { cluster: this.cluster, ...options });
    const exec = this.execLine();
    this.caches = new NodeCaches({ cluster: this.cluster, ...options, exec: (...where) => exec.execIn(...where) });
  }

  /** Includes claims in the sweep from now on, where the template uses them. */
  expect({ claims }: PodLocation): this {
    this.#usesClaims ||= claims !== undefined;
    return this;
  }

  /** The record is written before the first pod is made. After a failure the next caller tries again. */
  async open(signal: AbortSignal): Promise<void> {
    // All callers wait for the same record: the signal only ends this caller's wait.
    await raceWithAbort(this.#lease.run(), signal);
    if (this.#closing.signal.aborted) return;
    this.#sweepTimer ??= this.#scheduleSweep();
  }

  /** Returns what supplies the pods of a template. */
  getSupply(template: SandboxTemplate, pod: PodTemplate): PodSupply {
    const key = buildSupplyKey(this.#options.owner, template, pod);
    const supply = this.#supplies.get(key) ?? this.#createSupply(template, pod);
    this.#supplies.set(key, supply);
    return supply;
  }

  /** Returns the way to pods through the API server. */
  execLine(): ExecLine {
    return new ExecLine(this.cluster, this.#options.clock, this.#heartbeats);
  }

  /** Deletes what owners have left that are gone. @returns whose sandboxes it was. */
  async sweep(signal: AbortSignal): Promise<readonly SandboxId[]> {
    const { owner, clock } = this.#options;
    const claims = this.#usesClaims && (await this.agentSandbox.isInstalled(signal)) ? this.agentSandbox : undefined;
    return sweepOrphans(this.cluster, createOrphanKinds(this.cluster, claims), owner, clock, signal);
  }

  /** The record goes last, so that a sweep finds what could not be removed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException('the sandbox provider is closing', 'AbortError'));
    this.#sweepTimer?.[Symbol.dispose]();
    await this.#sweep;
    const supplies = [...this.#supplies.values()];
    await Promise.all(supplies.map((supply) => supply[Symbol.asyncDispose]()));
    await this.#claims[Symbol.asyncDispose]();
    const lease = await this.#lease.result();
    if (supplies.some(({ isHolding }) => isHolding)) lease?.abandon();
    else await lease?.[Symbol.asyncDispose]();
    this.caches[Symbol.dispose]();
    this.#heartbeats[Symbol.dispose]();
    this.cluster[Symbol.dispose]();
  }

  #createSupply(template: SandboxTemplate, pod: PodTemplate): PodSupply {
    const options = { cluster: this.cluster, ...this.#options };
    if (pod.claims === undefined) return new MadePods(options);
    return new ClaimedPods({ ...options, api: this.agentSandbox, claims: this.#claims }, template, pod, pod.claims);
  }

  #scheduleSweep(): Disposable {
    return this.#options.clock.after(SWEEP_MS, () => {
      this.#sweep = this.#sweepAndGoOn();
    });
  }

  async #sweepAndGoOn(): Promise<void> {
    await this.#sweepOnce();
    if (!this.#closing.signal.aborted) this.#sweepTimer = this.#scheduleSweep();
  }

  async #sweepOnce(): Promise<void> {
    const { log } = this.#options;
    try {
      const swept = await this.sweep(this.#closing.signal);
      if (swept.length > 0) log(`${swept.length} pods of Musters that are gone were deleted`);
    } catch (error) {
      if (!this.#closing.signal.aborted) log(`the sweep failed: ${getMessage(error)}`);
    }
  }
}

/** Made pods state themselves what they are made of; claims are made from a warm pool. */
function buildSupplyKey(owner: OwnerId, template: SandboxTemplate, pod: PodTemplate): string {
  if (pod.claims === undefined) return 'made';
  return 'warmPool' in pod.claims ? formatCanonicalJson(pod) : nameOwnPool(owner, template, pod);
}
