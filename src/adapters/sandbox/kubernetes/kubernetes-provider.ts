import { abortError } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import type { DialBackSettings, PodPlace, PodTemplate } from '../../../pool/pod-template.ts';
import type { Obstacle, Sandbox, SandboxProvider, SandboxSpec } from '../../../pool/sandbox.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/template.ts';
import { Creations } from '../creations.ts';
import { PROGRAM_CONTAINER } from './container-names.ts';
import { advertisedUrl, hostAliasesOf } from './dial-back/dial-address.ts';
import { DialBackGates } from './dial-back/dial-back-gates.ts';
import { authorityOf, DialBackLine } from './dial-back/dial-back-line.ts';
import { podIsolation } from './isolation.ts';
import { KubernetesSandbox } from './kubernetes-sandbox.ts';
import { NamespaceSite } from './namespace-site.ts';
import { sweepOrphans } from './orphan-sweep.ts';
import { podName } from './pod-labels.ts';
import type { PodLine } from './pod-line.ts';
import { podManifest } from './pod-manifest.ts';
import { untilReady, whileItRuns } from './pod-readiness.ts';
import { podOf, preflight } from './preflight.ts';
import { checkPodTemplate } from './template-check.ts';

export interface KubernetesOptions {
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** Told what goes wrong without anything failing for it. */
  readonly log?: (message: string) => void;
  /** Where to sweep before anything has been made or described there. */
  readonly places?: readonly PodPlace[];
}

/** Sandboxes are pods: each has a container that the program is started in, and one that its files come through. */
export function createKubernetesProvider(options: KubernetesOptions): SandboxProvider {
  return new KubernetesProvider(options);
}

class KubernetesProvider implements SandboxProvider {
  readonly name = 'kubernetes';
  readonly owner: OwnerId;
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  /** By cluster and namespace. */
  readonly #sites = new Map<string, NamespaceSite>();
  readonly #gates: DialBackGates;
  readonly #sandboxes = new Set<KubernetesSandbox>();
  readonly #creations = new Creations();
  #closed: Promise<void> | undefined;

  constructor({ owner, clock, log = () => {}, places = [] }: KubernetesOptions) {
    this.owner = owner;
    this.#clock = clock;
    this.#log = log;
    this.#gates = new DialBackGates({ clock, log });
    for (const place of places) this.#site(place);
  }

  async describe(template: SandboxTemplate): Promise<Isolation> {
    checkPodTemplate(template);
    const pod = podOf(template);
    const isolation = podIsolation(template, pod);
    if (pod.transport.kind === 'dial-back') await this.#assertReachable(pod.transport);
    await preflight(this.#site(pod).cluster, pod, this.#creations.closing);
    return isolation;
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    return this.#creations.run(signal, (either) => this.#create(spec, either));
  }

  obstacles({ pod }: SandboxTemplate): readonly Obstacle[] {
    return pod === undefined ? [] : (this.#sites.get(siteKey(pod))?.obstacles() ?? []);
  }

  async sweep(signal: AbortSignal): Promise<readonly SandboxId[]> {
    const swept: SandboxId[] = [];
    for (const { cluster } of this.#sites.values()) swept.push(...(await sweepOrphans(cluster, this.owner, this.#clock, signal)));
    return swept;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #create({ id, template }: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    checkPodTemplate(template);
    const pod = podOf(template);
    const isolation = podIsolation(template, pod);
    const site = this.#site(pod);
    await site.open(signal);
    const name = podName(this.owner, id);
    const line = await this.#line(site, name, pod);
    const followed = site.follow(name);
    const remove = (): Promise<void> => {
      line[Symbol.dispose]();
      return site.remove(followed, id);
    };
    try {
      await site.cluster.createPod(podManifest(this.owner, { id, template }, pod, line.hold), signal);
      await untilReady(followed, pod, this.#clock, signal);
      const channel = await whileItRuns(followed, signal, (either) =>
        line.exec(PROGRAM_CONTAINER, [...line.start, ...template.command], either),
      );
      const { lifetimeSeconds } = template.limits;
      const sandbox = new KubernetesSandbox({ id, isolation, pod: followed, line, channel, clock: this.#clock, lifetimeSeconds, remove });
      this.#sandboxes.add(sandbox);
      void sandbox.exit.then(() => this.#sandboxes.delete(sandbox));
      return sandbox;
    } catch (error) {
      await remove().catch((failure: unknown) => this.#log(`the pod ${followed.name} is left to the sweep: ${String(failure)}`));
      if (signal.aborted) throw abortError(signal);
      throw error;
    }
  }

  /** As far as Muster can tell without a pod. */
  async #assertReachable(settings: DialBackSettings): Promise<void> {
    const url = advertisedUrl(settings);
    await Promise.all([hostAliasesOf(url), authorityOf(settings)]);
    await this.#gates.of(settings);
  }

  /** The way to the pod's containers, before there are any. */
  async #line(site: NamespaceSite, name: string, { transport }: PodTemplate): Promise<PodLine> {
    switch (transport.kind) {
      case 'exec':
        return site.execLine(name);
      case 'dial-back':
        return await DialBackLine.open(name, transport, await this.#gates.of(transport), this.#clock);
    }
  }

  #site(pod: PodPlace): NamespaceSite {
    const key = siteKey(pod);
    const site = this.#sites.get(key) ?? new NamespaceSite(pod, { owner: this.owner, clock: this.#clock, log: this.#log });
    this.#sites.set(key, site);
    return site;
  }

  async #close(): Promise<void> {
    await this.#creations.close();
    const sites = [...this.#sites.values()];
    const ends = await Promise.allSettled([...this.#sandboxes].map((sandbox) => sandbox.destroy()));
    await Promise.all(sites.map((site) => site[Symbol.asyncDispose]()));
    await this.#gates[Symbol.asyncDispose]();
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure) throw new InfrastructureError('sandbox.not-gone', String(failure.reason), { cause: failure.reason });
  }
}

function siteKey({ kubeconfig, context, namespace, requestsPerSecond }: PodPlace): string {
  return JSON.stringify([kubeconfig, context, namespace, requestsPerSecond]);
}
