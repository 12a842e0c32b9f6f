import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKubernetesProvider } from '../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import { createPullCommand } from '../src/adapters/sandbox/remote/pull-order.ts';
import { systemClock } from '../src/kernel/clock.ts';
import type { FetchWay } from '../src/kernel/fetching.ts';
import { parseOwnerId, parseSandboxId } from '../src/kernel/ids.ts';
import type { Sandbox, SandboxProvider } from '../src/pool/ports/sandbox.ts';
import { podTemplate, IMAGE } from '../test/support/kubernetes/kubernetes-context.ts';
import { KubernetesSimulator } from '../test/support/kubernetes/kubernetes-simulator.ts';
import { PaperNode } from '../test/support/kubernetes/paper-node.ts';
import { runnerImage } from '../test/support/kubernetes/runner-image.ts';
import { CACHE_NAMESPACE } from '../test/support/kubernetes/simulated-node-caches.ts';
import { SimulatedNode, type PodNode } from '../test/support/kubernetes/simulated-node.ts';
import { PodPart } from '../src/adapters/sandbox/kubernetes/settings/pod-template.ts';

const LIMITS = { memoryBytes: 2 ** 28, processes: 16, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 3600 };
const TEMPLATE = { name: 'local', command: ['runner'], environment: {}, mounts: [], network: 'none', limits: LIMITS, demands: [] } as const;
const NEVER = new AbortController().signal;

/** A simulated cluster of many nodes, whose pods have no programs: what fetches is real. */
export class CacheCluster implements AsyncDisposable {
  readonly nodeDirectories: readonly string[];
  readonly #stateDir: string;
  readonly #python: string;
  readonly #simulator: KubernetesSimulator;
  readonly #node: SimulatedNode;
  readonly #provider: SandboxProvider;
  #made = 0;

  private constructor(stateDir: string, python: string, names: readonly string[], simulator: KubernetesSimulator, node: SimulatedNode) {
    this.#stateDir = stateDir;
    this.#python = python;
    this.#simulator = simulator;
    this.#node = node;
    this.nodeDirectories = names.map((name) => join(stateDir, 'nodes', name));
    const log = (message: string): void => void process.stderr.write(`${message}\n`);
    this.#provider = createKubernetesProvider({ owner: parseOwnerId('egress'), clock: systemClock, log });
  }

  static async open(nodes: number): Promise<CacheCluster> {
    const stateDir = await mkdtemp(join(tmpdir(), 'muster-egress-'));
    const { image, python } = await runnerImage();
    const names = Array.from({ length: nodes }, (_, i) => `node-${i}`);
    const node = await SimulatedNode.open(stateDir, parseOwnerId('egress-nodes'));
    const simulator = await KubernetesSimulator.start({ node: withoutPrograms(node), images: new Map([[IMAGE, image]]), nodes: names });
    simulator.nodeCaches.deploy(image);
    await writeFile(join(stateDir, 'kubeconfig'), simulator.kubeconfig());
    return new CacheCluster(stateDir, python, names, simulator, node);
  }

  /** On the nodes in turn. */
  async pods(count: number, ways: readonly FetchWay[]): Promise<readonly Sandbox[]> {
    const nodeCache = { namespace: CACHE_NAMESPACE, claim: CACHE_NAMESPACE };
    const fetching = { ways, command: createPullCommand(this.#python), nodeCache };
    const pod = podTemplate(join(this.#stateDir, 'kubeconfig'), { network: 'cluster', requestsPerSecond: 2000, fetching });
    const made = Array.from({ length: count }, () =>
      this.#provider.create(
        { id: parseSandboxId(`s${(this.#made += 1)}`), template: { ...TEMPLATE, providerPart: new PodPart(pod) } },
        NEVER,
      ),
    );
    return await Promise.all(made);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#provider[Symbol.asyncDispose]();
    await this.#simulator[Symbol.asyncDispose]();
    await this.#node[Symbol.asyncDispose]();
    await rm(this.#stateDir, { recursive: true, force: true });
  }
}

function withoutPrograms(node: SimulatedNode): PodNode {
  const paper = new PaperNode();
  return {
    start: (name) => node.start(name),
    run: (name) => paper.run(name),
    runHelper: (...helper) => node.runHelper(...helper),
    runCache: (...cache) => node.runCache(...cache),
    memoryKills: () => paper.memoryKills(),
    kill: (name) => paper.kill(name),
    remove: async (name) => {
      await paper.remove(name);
      await node.remove(name);
    },
  };
}
