import { abortError } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import type { PodTemplate } from '../../../pool/pod-template.ts';
import type { Obstacle, Sandbox, SandboxProvider, SandboxSpec } from '../../../pool/sandbox.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/template.ts';
import { Creations } from '../creations.ts';
import { podIsolation } from './isolation.ts';
import { KubernetesSandbox } from './kubernetes-sandbox.ts';
import { NamespaceSite } from './namespace-site.ts';
import { INBOX_CONTAINER, PROGRAM_CONTAINER } from './pod-manifest.ts';
import { podOf, preflight } from './preflight.ts';
import { checkPodTemplate } from './template-check.ts';

export interface KubernetesOptions {
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** Told what goes wrong without anything failing for it. */
  readonly log?: (message: string) => void;
  /** Where to sweep before anything has been made or described there. */
  readonly places?: readonly PodTemplate[];
}

/**
 * Runs the program, and ends what it has left behind in its container: an exec is over only when nobody holds its streams any more, so a
 * descendant would hide that the program has ended. The code is the program's; one that is not there is 127. What the shell itself would
 * say of a signal goes nowhere.
 */
const SUPERVISE = 'exec 3>&2 2>/dev/null; "$@" 2>&3 3>&-; code=$?; kill -KILL -1; exit $code';
const START = ['/bin/sh', '-c', SUPERVISE, 'muster-start'] as const;

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
  readonly #sandboxes = new Set<KubernetesSandbox>();
  readonly #creations = new Creations();
  #closed: Promise<void> | undefined;

  constructor({ owner, clock, log = () => {}, places = [] }: KubernetesOptions) {
    this.owner = owner;
    this.#clock = clock;
    this.#log = log;
    for (const place of places) this.#site(place);
  }

  async describe(template: SandboxTemplate): Promise<Isolation> {
    checkPodTemplate(template);
    const pod = podOf(template);
    const isolation = podIsolation(template, pod);
    const { cluster, claims } = this.#site(pod);
    await preflight(cluster, claims, template, pod, this.#creations.closing);
    return isolation;
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    return this.#creations.run(signal, (either) => this.#create(spec, either));
  }

  obstacles(template: SandboxTemplate): readonly Obstacle[] {
    const { pod } = template;
    return pod === undefined ? [] : (this.#sites.get(siteKey(pod))?.supply(template, pod).obstacles() ?? []);
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
    const pod = podOf(template);
    const isolation = podIsolation(template, pod);
    const site = this.#site(pod);
    await site.open(signal);
    const wanted = site.supply(template, pod).want({ id, template });
    const remove = (): Promise<void> => wanted.remove();
    try {
      const followed = await wanted.ready(signal);
      const channel = await site.exec(followed.name, PROGRAM_CONTAINER, [...START, ...template.command], signal);
      const inbox = (command: readonly string[], uploading: AbortSignal) => site.exec(followed.name, INBOX_CONTAINER, command, uploading);
      const { lifetimeSeconds } = template.limits;
      const { fetching } = pod;
      const { caches } = site;
      const parts = { id, isolation, pod: followed, channel, inbox, fetching, caches, clock: this.#clock, lifetimeSeconds, remove };
      const sandbox = new KubernetesSandbox(parts);
      this.#sandboxes.add(sandbox);
      void sandbox.exit.then(() => this.#sandboxes.delete(sandbox));
      return sandbox;
    } catch (error) {
      await remove().catch((failure: unknown) => this.#log(`the pod of ${id} is left to the sweep: ${String(failure)}`));
      if (signal.aborted) throw abortError(signal);
      throw error;
    }
  }

  #site(pod: PodTemplate): NamespaceSite {
    const key = siteKey(pod);
    const site = this.#sites.get(key) ?? new NamespaceSite(pod, { owner: this.owner, clock: this.#clock, log: this.#log });
    this.#sites.set(key, site);
    return site.expect(pod);
  }

  async #close(): Promise<void> {
    await this.#creations.close();
    const sites = [...this.#sites.values()];
    const ends = await Promise.allSettled([...this.#sandboxes].map((sandbox) => sandbox.destroy()));
    await Promise.all(sites.map((site) => site[Symbol.asyncDispose]()));
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure) throw new InfrastructureError('sandbox.not-gone', String(failure.reason), { cause: failure.reason });
  }
}

function siteKey({ kubeconfig, context, namespace, requestsPerSecond }: PodTemplate): string {
  return JSON.stringify([kubeconfig, context, namespace, requestsPerSecond]);
}
