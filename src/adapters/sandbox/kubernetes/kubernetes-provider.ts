import { createAbortError } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InputError } from '../../../kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import type { Obstacle, Sandbox, SandboxProvider, SandboxSpec } from '../../../pool/ports/sandbox.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import { ProviderSandboxes } from '../provider-sandboxes.ts';
import { bringMounts } from '../remote/brought-mounts.ts';
import { namePod } from './cluster/pod-labels.ts';
import { getAdvertisedUrl, resolveHostAliases } from './dial-back/dial-address.ts';
import { DialBackGates } from './dial-back/dial-back-gates.ts';
import { DialBackLine, readAuthority } from './dial-back/dial-back-line.ts';
import type { PodLine } from './exec/pod-line.ts';
import { KubernetesSandbox } from './kubernetes-sandbox.ts';
import { NamespaceSite } from './namespace-site.ts';
import { AttachLine } from './pods/attach-line.ts';
import { INBOX_CONTAINER, PROGRAM_CONTAINER } from './pods/container-names.ts';
import { getPod } from './pods/kubernetes-template.ts';
import { runWhileAlive } from './pods/pod-readiness.ts';
import { checkCluster } from './preflight.ts';
import { type DialBackSettings, getPodPart, type PodLocation, type PodTemplate } from './settings/pod-template.ts';

export interface KubernetesOptions {
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** Reports problems that fail nothing. */
  readonly log?: (message: string) => void;
  /** The places to sweep before anything has been made or described there. */
  readonly places?: readonly PodLocation[];
}

/** Sandboxes are pods: each has a container for the program, and one through which its files come. */
export function createKubernetesProvider(options: KubernetesOptions): SandboxProvider {
  return new KubernetesProvider(options);
}

class KubernetesProvider implements SandboxProvider {
  readonly name = 'kubernetes';
  readonly owner: OwnerId;
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  /** Sites by cluster and namespace. */
  readonly #sites = new Map<string, NamespaceSite>();
  readonly #gates: DialBackGates;
  readonly #sandboxes = new ProviderSandboxes();
  #closed: Promise<void> | undefined;

  constructor({ owner, clock, log = () => {}, places = [] }: KubernetesOptions) {
    this.owner = owner;
    this.#clock = clock;
    this.#log = log;
    this.#gates = new DialBackGates({ clock, log });
    for (const place of places) this.#getSite(place);
  }

  async describe(template: SandboxTemplate): Promise<Isolation> {
    checkPodTemplate(template);
    const pod = getPod(template);
    const isolation = describePodIsolation(template, pod);
    if (pod.transport.kind === 'dial-back') await this.#assertReachable(pod.transport);
    const { cluster, agentSandbox } = this.#getSite(pod);
    await checkCluster(cluster, agentSandbox, template, pod, this.#sandboxes.closing);
    return isolation;
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    return this.#sandboxes.create(signal, (either) => this.#create(spec, either));
  }

  obstacles(template: SandboxTemplate): readonly Obstacle[] {
    const pod = getPod(template);
    return this.#sites.get(buildSiteKey(pod))?.getSupply(template, pod).obstacles() ?? [];
  }

  async sweep(signal: AbortSignal): Promise<readonly SandboxId[]> {
    const swept: SandboxId[] = [];
    for (const site of this.#sites.values()) swept.push(...(await site.sweep(signal)));
    return swept;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #create({ id, template }: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    checkPodTemplate(template);
    const pod = getPod(template);
    const isolation = describePodIsolation(template, pod);
    const site = this.#getSite(pod);
    await site.open(signal);
    const line = await this.#openLine(site, { id, template }, pod);
    const wanted = site.getSupply(template, pod).want({ id, template }, line.hold);
    const remove = (): Promise<void> => {
      line[Symbol.dispose]();
      return wanted.remove();
    };
    try {
      const followed = await wanted.takeReadyPod(signal);
      const channel = await runWhileAlive(followed, signal, async (either) => {
        await bringMounts(template.mounts, (command, bringing) => line.exec(followed.name, INBOX_CONTAINER, command, bringing), either);
        return await line.exec(followed.name, PROGRAM_CONTAINER, [...line.start, ...template.command], either);
      });
      const { lifetimeSeconds } = template.limits;
      const { fetching } = pod;
      const { caches } = site;
      const parts = { id, isolation, pod: followed, line, channel, fetching, caches, clock: this.#clock, lifetimeSeconds, remove };
      return this.#sandboxes.hold((onGone) => new KubernetesSandbox({ ...parts, onGone }));
    } catch (error) {
      await remove().catch((failure: unknown) => this.#log(`the pod of ${id} is left to the sweep: ${String(failure)}`));
      if (signal.aborted) throw createAbortError(signal);
      throw error;
    }
  }

  /** Checks all that can be checked without a pod: the address, the certificates, and that Muster can listen. */
  async #assertReachable(settings: DialBackSettings): Promise<void> {
    const url = getAdvertisedUrl(settings);
    await Promise.all([resolveHostAliases(settings.provider, url), readAuthority(settings)]);
    await this.#gates.open(settings);
  }

  /** Opens the connection to the pod's containers, before they exist. */
  async #openLine(site: NamespaceSite, { id, template }: SandboxSpec, { transport }: PodTemplate): Promise<PodLine> {
    switch (transport.kind) {
      case 'exec':
        return site.execLine();
      case 'attach':
        return new AttachLine(site.execLine(), template.command);
      case 'dial-back':
        return await DialBackLine.open(namePod(this.owner, id), transport, await this.#gates.open(transport), this.#clock);
    }
  }

  #getSite(pod: PodLocation): NamespaceSite {
    const key = buildSiteKey(pod);
    const site = this.#sites.get(key) ?? new NamespaceSite(pod, { owner: this.owner, clock: this.#clock, log: this.#log });
    this.#sites.set(key, site);
    return site.expect(pod);
  }

  async #close(): Promise<void> {
    await this.#sandboxes.stopCreating();
    const sites = [...this.#sites.values()];
    try {
      await this.#sandboxes.destroyAll();
    } finally {
      await Promise.all(sites.map((site) => site[Symbol.asyncDispose]()));
      await this.#gates[Symbol.asyncDispose]();
    }
  }
}

function buildSiteKey({ kubeconfig, context, namespace, requestsPerSecond }: PodLocation): string {
  return JSON.stringify([kubeconfig, context, namespace, requestsPerSecond]);
}

const CONTAINER = { scope: 'tree', by: 'container' } as const;

/** A policy is an object that any cluster accepts, also one whose network plugin ignores it. */
function describeUnverifiedNetwork(network: PodTemplate['network']): string {
  return `not verified: the NetworkPolicy for kubernetes.network: ${network} exists, and Muster has not tried whether the cluster's network plugin enforces it (docs/kubernetes.md)`;
}

/** @throws InputError `template.limit-unavailable` for a demand that a pod cannot meet. */
function describePodIsolation(template: SandboxTemplate, { runtimeClassName, network }: PodTemplate): Isolation {
  const isolation: Isolation = {
    mechanism: runtimeClassName === undefined ? 'kubernetes' : `kubernetes (${runtimeClassName})`,
    limits: {
      memory: CONTAINER,
      // The kubelet's setting (podPidsLimit) bounds the processes of a pod. A pod cannot set such a bound itself.
      processes: { scope: 'none', by: 'none' },
      cpu: CONTAINER,
      disk: { scope: 'tree', by: 'tmpfs' },
      lifetime: { scope: 'tree', by: 'timer' },
    },
    ...(network === 'cluster' ? {} : { unverified: [describeUnverifiedNetwork(network)] }),
  };
  const missing = template.demands.find((demand) => isolation.limits[demand].scope !== 'tree');
  if (missing === undefined) return isolation;
  const problem = `template "${template.name}" demands the limit "${missing}", which a pod cannot be given`;
  throw new InputError('template.limit-unavailable', `${problem}: set podPidsLimit of the kubelets, and drop the demand`);
}

const MEBIBYTE = 2 ** 20;
const MEMORY_MIN_BYTES = 4 * MEBIBYTE;
const DISK_MIN_BYTES = 65_536;

/** @throws InputError `template.invalid` for what no pod can be made of. */
function checkPodTemplate(template: SandboxTemplate): void {
  const { name, command, mounts, environment, limits, workspace } = template;
  const pod = getPodPart(template);
  const { memoryBytes, processes, cpus, diskBytes, lifetimeSeconds } = limits;
  // A workspace's mounts are uploaded.
  if (mounts.length > 0 && !workspace)
    reject(name, 'mounts', 'has paths of this machine, which the nodes of a cluster do not have', 'mounts: [], and the files in the image');
  if (command.length === 0) reject(name, 'command', 'is empty', 'the program and its arguments');
  if (pod?.claims !== undefined && pod.transport.kind === 'dial-back') {
    reject(name, 'kubernetes.transport', 'is dial-back, but pods that are claimed are made before Muster could tell them a token', 'exec');
  }
  for (const variable of Object.keys(environment)) {
    if (!/^[^=\0]+$/.test(variable)) reject(name, 'environment', `has the name ${JSON.stringify(variable)}`, 'names without "=" and NUL');
  }
  assertAtLeast(name, 'limits.memoryBytes', memoryBytes, MEMORY_MIN_BYTES);
  assertAtLeast(name, 'limits.processes', processes, 1);
  assertAtLeast(name, 'limits.cpus', cpus, 0.01);
  assertAtLeast(name, 'limits.diskBytes', diskBytes, DISK_MIN_BYTES);
  assertAtLeast(name, 'limits.lifetimeSeconds', lifetimeSeconds, 0);
}

function assertAtLeast(template: string, field: string, value: number, minimum: number): void {
  if (!Number.isFinite(value) || value < minimum) reject(template, field, `is ${value}`, `a finite number from ${minimum} on`);
}

function reject(template: string, field: string, problem: string, expected: string): never {
  throw new InputError('template.invalid', `template "${template}": ${field} ${problem}; expected ${expected}`);
}
