import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { parse } from 'yaml';
import { createKubernetesProvider } from '../../../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import { namePod } from '../../../src/adapters/sandbox/kubernetes/cluster/pod-labels.ts';
import { type OwnerId, parseOwnerId, type SandboxId } from '../../../src/kernel/ids.ts';
import {
  PodPart,
  type ClaimSettings,
  type PodTemplate,
  type PodTransport,
} from '../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import type { SandboxProvider } from '../../../src/pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../../../src/pool/ports/template.ts';
import type { SandboxContext } from '../../contract/sandbox-provider.ts';
import { SkippableClock } from '../skippable-clock.ts';
import { objectSchema } from './api-objects.ts';
import { crashedOwner } from './crashed-owner.ts';
import { KubernetesSimulator, NAMESPACE, type SimulatorOptions } from './kubernetes-simulator.ts';
import { CLAIMS } from './agent-sandbox-objects.ts';
import type { ExitFaults } from './pod-exit.ts';
import { SimulatedNode, type SimulatedImage } from './simulated-node.ts';

export const IMAGE = 'muster-runner:test';
const boundSchema = z.looseObject({ status: z.looseObject({ sandbox: z.looseObject({ name: z.string() }) }) });

/** A cluster of its own for one test, whose pods run on this machine. */
export class KubernetesContext implements SandboxContext {
  readonly clock = new SkippableClock();
  readonly hiddenPaths: readonly string[];
  readonly simulator: KubernetesSimulator;
  readonly stateDir: string;
  readonly pod: PodTemplate;
  readonly log: string[] = [];
  readonly #node: SimulatedNode;
  #owners = 0;

  private constructor(
    stateDir: string,
    simulator: KubernetesSimulator,
    node: SimulatedNode,
    hiddenPaths: readonly string[],
    claims: ClaimSettings | undefined,
    transport: PodTransport,
  ) {
    this.stateDir = stateDir;
    this.simulator = simulator;
    this.#node = node;
    this.hiddenPaths = hiddenPaths;
    this.pod = podTemplate(path.join(stateDir, 'kubeconfig'), { claims, transport });
  }

  /** @param claims how pods are claimed; left out: Muster makes them. */
  static async open(
    image: SimulatedImage,
    options: Omit<SimulatorOptions, 'node' | 'images'> = {},
    claims?: ClaimSettings,
    transport: PodTransport = { kind: 'exec' },
  ): Promise<KubernetesContext> {
    const stateDir = await mkdtemp(path.join(tmpdir(), 'muster-kubernetes-'));
    const node = await SimulatedNode.open(stateDir, parseOwnerId(`node-${path.basename(stateDir).slice(-6).toLowerCase()}`));
    const simulator = await KubernetesSimulator.start({ ...options, node, images: new Map([[IMAGE, image]]) });
    await writeFile(path.join(stateDir, 'kubeconfig'), simulator.kubeconfig(undefined, options.certificate?.cert));
    const places = [stateDir, path.join(import.meta.dirname, '../../..'), homedir(), '/home', '/opt', '/sys'];
    const hidden = places.filter((place) => !image.mounts.some(({ target }) => target.startsWith(place)));
    return new KubernetesContext(stateDir, simulator, node, hidden, claims, transport);
  }

  get additions(): Partial<SandboxTemplate> {
    return { providerPart: new PodPart(this.pod) };
  }

  /** Of the connections that pods make. */
  get exitFaults(): ExitFaults {
    return this.#node.exitFaults;
  }

  /** As deploy/kubernetes/origin-policy.yaml. */
  allowOrigin(): void {
    const text = readFileSync(path.join(import.meta.dirname, '../../../deploy/kubernetes/origin-policy.yaml'), 'utf8');
    this.simulator.store.create('networkpolicies', objectSchema.parse(parse(text)));
  }

  newOwner(): OwnerId {
    this.#owners += 1;
    return parseOwnerId(`owner-${process.pid}-${this.#owners}`);
  }

  provider(): SandboxProvider {
    const log = (message: string): void => void this.log.push(message);
    return createKubernetesProvider({ owner: this.newOwner(), clock: this.clock, log, places: [this.pod] });
  }

  /** Warm pods are no sandboxes yet. */
  async traces(): Promise<readonly string[]> {
    const groups = await Promise.all(this.#node.cgroupDirectories.map((directory) => groupsIn(directory)));
    return [...this.simulator.podNames(), ...this.simulator.names(CLAIMS), ...groups.flat()];
  }

  async killFromOutside({ owner }: SandboxProvider, id: SandboxId): Promise<void> {
    this.simulator.pods.strike(this.podOf(owner, id), 'container-killed');
  }

  /** What a sandbox's pod is called. */
  podOf(owner: OwnerId, id: SandboxId): string {
    const claim = this.simulator.store.find(CLAIMS, namePod(owner, id));
    return claim ? boundSchema.parse(claim).status.sandbox.name : namePod(owner, id);
  }

  async processorSeconds({ owner }: SandboxProvider, id: SandboxId): Promise<number> {
    const name = this.#node.idOf(this.podOf(owner, id)) ?? '';
    for (const directory of this.#node.cgroupDirectories) {
      const counted = await readFile(path.join(directory, name, 'cpuacct.usage'), 'utf8').catch(() => undefined);
      if (counted !== undefined) return Number(counted) / 1e9;
      const stat = await readFile(path.join(directory, name, 'cpu.stat'), 'utf8').catch(() => '');
      const usage = /^usage_usec (\d+)$/m.exec(stat)?.[1];
      if (usage !== undefined) return Number(usage) / 1e6;
    }
    throw new Error('the usage of the sandbox is not counted');
  }

  /** What the next Muster does at its start. @returns what was left for it. */
  async sweep(): Promise<readonly SandboxId[]> {
    await using provider = this.provider();
    return await provider.sweep(new AbortController().signal);
  }

  crashedOwner(commands: readonly (readonly string[])[]): Promise<readonly SandboxId[]> {
    return crashedOwner(this.newOwner(), commands, this.pod);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.simulator[Symbol.asyncDispose]();
    await this.#node[Symbol.asyncDispose]();
    await rm(this.stateDir, { recursive: true });
  }
}

export function podTemplate(kubeconfig: string, changes: Partial<PodTemplate> = {}): PodTemplate {
  return {
    kubeconfig,
    namespace: NAMESPACE,
    image: IMAGE,
    network: 'none',
    imagePullPolicy: 'IfNotPresent',
    imagePullSecrets: [],
    nodeSelector: {},
    tolerations: [],
    requestedShare: 1,
    unschedulableSeconds: 60,
    requestsPerSecond: 1000,
    transport: { kind: 'exec' },
    ...changes,
  };
}

async function groupsIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('_')).map(({ name }) => path.join(directory, name));
}
