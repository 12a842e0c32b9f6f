import { z } from 'zod';
import { Refusal, type KubeObject } from './api-objects.ts';
import type { ObjectStore } from './object-store.ts';
import type { ContainerTemplate, Executed, PodNode, SimulatedImage } from './simulated-node.ts';

export const PODS = 'pods';
const NETWORK = 'muster.dev/network';
/** Networks of pods that policies close, but for what they name. */
const CLOSED: ReadonlySet<string> = new Set(['none', 'dial-back']);

const quantity = z.union([z.string(), z.number()]).transform((text) => bytesOf(String(text)));
const podSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string(), labels: z.record(z.string(), z.string()).default({}) }),
  spec: z.looseObject({
    activeDeadlineSeconds: z.number().optional(),
    runtimeClassName: z.string().optional(),
    priorityClassName: z.string().optional(),
    nodeSelector: z.record(z.string(), z.string()).default({}),
    containers: z
      .array(
        z.looseObject({
          name: z.string(),
          image: z.string(),
          command: z.array(z.string()),
          env: z.array(z.object({ name: z.string(), value: z.string().default('') })).default([]),
          stdin: z.boolean().default(false),
          volumeMounts: z
            .array(z.looseObject({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().default(false) }))
            .default([]),
          resources: z
            .looseObject({
              limits: z.object({ memory: quantity.optional(), cpu: quantity.optional() }).prefault({}),
              requests: z.object({ memory: quantity.optional(), cpu: quantity.optional() }).prefault({}),
            })
            .prefault({}),
        }),
      )
      .min(1),
    nodeName: z.string().optional(),
    volumes: z
      .array(
        z.looseObject({
          name: z.string(),
          emptyDir: z.object({ sizeLimit: quantity.optional(), medium: z.string().optional() }).optional(),
          persistentVolumeClaim: z.object({ claimName: z.string() }).optional(),
        }),
      )
      .default([]),
  }),
  status: z
    .looseObject({
      phase: z.string().default('Pending'),
      containerStatuses: z
        .array(z.looseObject({ name: z.string(), state: z.looseObject({ terminated: z.unknown().optional() }).default({}) }))
        .default([]),
    })
    .prefault({}),
});
type Pod = z.infer<typeof podSchema>;
type Container = Pod['spec']['containers'][number];

/** A container's own program, and the end of what it says. */
interface Main {
  readonly container: string;
  readonly executed: Executed;
  log: string;
}

/** As much of a log as Kubernetes tells as the reason of a container's end. */
const LOG_CHARACTERS = 2048;

/** What the cluster has room for. */
export interface Capacity {
  readonly pods: number;
  readonly memoryBytes: number;
}

/** How a pod is ended by others than its owner, as their objects look then. */
export type Disaster = 'evicted' | 'preempted' | 'node-lost' | 'container-killed' | 'deleted';

/** Scheduler, kubelet and garbage collection of a cluster. */
export class SimulatedPods {
  readonly #store: ObjectStore;
  readonly #node: PodNode | undefined;
  readonly #images: ReadonlyMap<string, SimulatedImage>;
  readonly #nodeNames: readonly string[];
  readonly #removals = new Map<string, Promise<void>>();
  readonly #scheduled = new Set<string>();
  /** First processes that wait for a client to attach to them, by the names of their pods. */
  readonly #attachable = new Map<string, Executed>();
  /** Pods on a node that has gone silent. */
  readonly #lost = new Set<string>();
  #bound = 0;
  capacity: Capacity = { pods: 100_000, memoryBytes: 1e15 };

  /** @param node undefined: pods have no processes, and nothing can be executed in them. */
  constructor(
    store: ObjectStore,
    node: PodNode | undefined,
    images: ReadonlyMap<string, SimulatedImage>,
    nodeNames: readonly string[] = ['node-1'],
  ) {
    this.#nodeNames = nodeNames;
    this.#store = store;
    this.#node = node;
    this.#images = images;
  }

  /** @throws Refusal (422) for what is no pod, (403) for what the cluster does not admit. */
  create(written: KubeObject): KubeObject {
    const parsed = podSchema.safeParse(written);
    if (!parsed.success) throw new Refusal(422, 'Invalid', `Pod "${written.metadata.name}" is invalid: ${parsed.error.message}`);
    this.#admit(parsed.data);
    const created = this.#store.create(PODS, { ...written, status: { phase: 'Pending', qosClass: 'Burstable' } });
    setImmediate(() => this.#schedule(created.metadata.name));
    return created;
  }

  /** As the API does: with a grace its node has to say that it is gone, without one its record is taken away. */
  delete(name: string, graceSeconds: number): KubeObject {
    const pod = this.#store.get(PODS, name);
    const isOnNode = this.#scheduled.has(name);
    if (pod.metadata.deletionTimestamp === undefined || graceSeconds === 0) {
      this.#store.change(PODS, name, (object) => ({
        ...object,
        metadata: { ...object.metadata, deletionTimestamp: new Date().toISOString(), deletionGracePeriodSeconds: graceSeconds },
      }));
    }
    if (graceSeconds === 0 || !isOnNode) this.#store.remove(PODS, name);
    // A node that is lost hears nothing of it until it is back, and finds that the record is gone.
    if (graceSeconds === 0) this.#lost.delete(name);
    if (isOnNode && !this.#lost.has(name)) this.#removal(name);
    return pod;
  }

  /** Nothing happens to a pod that is gone. */
  strike(name: string, disaster: Disaster): void {
    if (!this.#store.find(PODS, name)) return;
    switch (disaster) {
      case 'evicted':
        this.#node?.kill(name);
        return this.#end(name, { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' });
      case 'preempted':
        this.#disrupt(name, 'PreemptionByScheduler', 'default-scheduler: preempting to accommodate a higher priority pod');
        return void this.delete(name, 1);
      case 'node-lost':
        this.#lost.add(name);
        return this.#disrupt(name, 'DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint');
      case 'container-killed':
        this.#node?.kill(name);
        return this.#containerEnded(name, 'program', 'Error', 137);
      case 'deleted':
        return void this.delete(name, 1);
    }
  }

  /** Runs a command in a container, or attaches to its first process. @throws Refusal (400, 404) */
  async exec(name: string, container: string, command: readonly string[] | undefined): Promise<Executed> {
    const pod = podSchema.parse(this.#store.get(PODS, name));
    const found = pod.spec.containers.find((each) => each.name === container);
    if (!found) throw new Refusal(400, 'BadRequest', `container ${container} is not valid for pod ${name}`);
    if (pod.status.phase !== 'Running') throw new Refusal(400, 'BadRequest', `cannot exec into a container in a ${pod.status.phase} pod`);
    const isOver = pod.status.containerStatuses.some((status) => status.name === container && status.state.terminated !== undefined);
    if (isOver) throw new Refusal(500, 'InternalError', `container not found ("${container}")`);
    const image = this.#images.get(found.image);
    if (!this.#node || !image) throw new Refusal(500, 'InternalError', 'error dialing backend: this cluster runs nothing');
    if (command) return await this.#run(this.#node, name, command, image, pod, found);
    const first = this.#attachable.get(name);
    if (!first || !found.stdin) throw new Refusal(400, 'BadRequest', `container ${container} does not have stdin`);
    return first;
  }

  /** The node notices what ended a container. */
  async afterExit(name: string, code: number | undefined): Promise<void> {
    if (code !== 137 || (await this.#node?.memoryKills(name)) === 0) return;
    this.#containerEnded(name, 'program', 'OOMKilled', 137);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#removals.values());
  }

  #admit({ metadata, spec }: Pod): void {
    const { runtimeClassName: runtime, priorityClassName: priority } = spec;
    const deny = (why: string): never => {
      throw new Refusal(403, 'Forbidden', `pods "${metadata.name}" is forbidden: ${why}`);
    };
    if (priority !== undefined && !this.#store.find('priorityclasses', priority)) deny(`no PriorityClass with name ${priority} was found`);
    if (runtime !== undefined && !this.#store.find('runtimeclasses', runtime)) deny(`pod rejected: RuntimeClass "${runtime}" not found`);
  }

  #schedule(name: string): void {
    const object = this.#store.find(PODS, name);
    if (!object || object.metadata.deletionTimestamp !== undefined || this.#scheduled.has(name)) return;
    const pod = podSchema.parse(object);
    const reason = this.#noRoom(pod);
    if (reason !== undefined) {
      const condition = {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message: `0/1 nodes are available: 1 ${reason}.`,
      };
      return this.#status(name, { phase: 'Pending', conditions: [condition] });
    }
    this.#scheduled.add(name);
    const nodeName = this.#bind(name);
    const missing = pod.spec.containers.find(({ image }) => !this.#images.has(image));
    if (missing) return this.#backOff(name, missing.name, missing.image);
    void this.#start(name, { ...pod, spec: { ...pod.spec, nodeName } });
  }

  /** To the nodes in turn. @returns the node's name. */
  #bind(name: string): string | undefined {
    const nodeName = this.#nodeNames[this.#bound % this.#nodeNames.length];
    this.#bound += 1;
    this.#store.change(PODS, name, (object) => ({ ...object, spec: { ...podSchema.parse(object).spec, nodeName } }));
    return nodeName;
  }

  #noRoom(pod: Pod): string | undefined {
    const claims = pod.spec.volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
    const missing = claims.find((claim) => !this.#store.find('persistentvolumeclaims', claim));
    if (missing !== undefined) return `persistentvolumeclaim "${missing}" not found`;
    if (Object.keys(pod.spec.nodeSelector).length > 0) return `node(s) didn't match Pod's node affinity/selector`;
    if (this.#scheduled.size >= this.capacity.pods) return 'Too many pods';
    const requested = pod.spec.containers.reduce(
      (sum, { resources }) => sum + (resources.requests.memory ?? resources.limits.memory ?? 0),
      0,
    );
    return requested > this.capacity.memoryBytes ? 'Insufficient memory' : undefined;
  }

  async #start(name: string, pod: Pod): Promise<void> {
    const containers = (state: object, ready: boolean) =>
      pod.spec.containers.map(({ name: container, image }) => ({ name: container, image, ready, state }));
    const conditions = (ready: object) => [
      { type: 'PodScheduled', status: 'True' },
      { type: 'Ready', ...ready },
    ];
    this.#status(name, {
      phase: 'Pending',
      conditions: conditions({ status: 'False', reason: 'ContainersNotReady' }),
      containerStatuses: containers({ waiting: { reason: 'ContainerCreating' } }, false),
    });
    await this.#node?.start(name);
    if (!this.#store.find(PODS, name)) return this.#removal(name);
    const mains = await Promise.all(pod.spec.containers.map((container) => this.#main(name, pod, container)));
    this.#status(name, {
      phase: 'Running',
      conditions: conditions({ status: 'True' }),
      ...address(this.#scheduled.size),
      containerStatuses: containers({ running: { startedAt: new Date().toISOString() } }, true),
    });
    for (const main of mains) if (main) void this.#afterMain(name, main);
  }

  /** What a container runs from its start; a shell that only waits is left out. */
  async #main(name: string, pod: Pod, container: Container): Promise<Main | undefined> {
    const image = this.#images.get(container.image);
    if (!this.#node || !image || container.command[0] === '/bin/sh') return undefined;
    const command = container.command.map((word) => word.replaceAll('$$', '$'));
    const executed = await this.#run(this.#node, name, command, image, pod, container).catch(() => undefined);
    if (!executed) return undefined;
    const main: Main = { container: container.name, executed, log: '' };
    if (container.stdin) {
      this.#attachable.set(name, executed);
      return main;
    }
    executed.stdin.end();
    executed.stdout.resume();
    executed.stderr.on('data', (chunk: Buffer) => (main.log = `${main.log}${chunk.toString()}`.slice(-LOG_CHARACTERS)));
    return main;
  }

  async #afterMain(name: string, main: Main): Promise<void> {
    const code = (await main.executed.ended) ?? 137;
    const isOutOfMemory = main.container === 'program' && code === 137 && ((await this.#node?.memoryKills(name)) ?? 0) > 0;
    this.#containerEnded(name, main.container, isOutOfMemory ? 'OOMKilled' : code === 0 ? 'Completed' : 'Error', code, main.log);
  }

  async #run(
    node: PodNode,
    name: string,
    command: readonly string[],
    image: SimulatedImage,
    pod: Pod,
    container: Container,
  ): Promise<Executed> {
    const template = containerOf(pod, container);
    return container.name === 'inbox'
      ? await node.runHelper(name, command, image, template)
      : await node.run(name, command, image, template);
  }

  #backOff(name: string, container: string, image: string): void {
    const waiting = (reason: string, message: string): object => ({
      phase: 'Pending',
      containerStatuses: [{ name: container, ready: false, image, state: { waiting: { reason, message } } }],
    });
    this.#status(name, waiting('ErrImagePull', `failed to pull and unpack image "${image}": not found`));
    setImmediate(() => this.#status(name, waiting('ImagePullBackOff', `Back-off pulling image "${image}": not found`)));
  }

  #removal(name: string): void {
    if (this.#removals.has(name)) return;
    const removal = (async () => {
      await this.#node?.remove(name);
      this.#attachable.delete(name);
      this.#scheduled.delete(name);
      this.#completed(name);
      this.#store.remove(PODS, name);
      this.#removals.delete(name);
      // A pod that waits for room may have it now.
      for (const { metadata } of this.#store.all(PODS)) if (!this.#scheduled.has(metadata.name)) this.#schedule(metadata.name);
    })();
    this.#removals.set(name, removal);
  }

  /** What a node says last of a pod that is ending. */
  #completed(name: string): void {
    const pod = this.#store.find(PODS, name);
    if (!pod || podSchema.parse(pod).status.phase === 'Failed') return;
    const { containers } = podSchema.parse(pod).spec;
    const state = { terminated: { reason: 'Completed', exitCode: 0 } };
    this.#status(name, {
      phase: 'Succeeded',
      containerStatuses: containers.map(({ name: container, image }) => ({ name: container, image, ready: false, state })),
    });
  }

  #end(name: string, status: object): void {
    this.#store.change(PODS, name, (object) => ({ ...object, status }));
  }

  #containerEnded(name: string, container: string, reason: string, exitCode: number, message = ''): void {
    const terminated = { name: container, ready: false, state: { terminated: { reason, exitCode, message } } };
    this.#status(name, { phase: 'Running', containerStatuses: [terminated] });
  }

  #disrupt(name: string, reason: string, message: string): void {
    const condition = { type: 'DisruptionTarget', status: 'True', reason, message };
    this.#store.change(PODS, name, (object) => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: new Date().toISOString() },
      status: { ...statusOf(object), conditions: [condition] },
    }));
  }

  #status(name: string, status: object): void {
    this.#store.change(PODS, name, (object) => ({ ...object, status: { ...statusOf(object), ...status } }));
  }
}

function address(number: number): object {
  const podIP = `10.88.${(number >> 8) & 255}.${number & 255}`;
  return { podIP, podIPs: [{ ip: podIP }] };
}

function statusOf(object: KubeObject): object {
  return podSchema.parse(object).status;
}

function containerOf({ spec, metadata }: Pod, { env, resources, volumeMounts, stdin }: Container): ContainerTemplate {
  const diskBytes = spec.volumes.reduce((sum, { emptyDir }) => sum + (emptyDir?.sizeLimit ?? 0), 0);
  const { memory = 2 ** 40, cpu = 64 } = resources.limits;
  const claimed = new Set(spec.volumes.filter(({ persistentVolumeClaim }) => persistentVolumeClaim).map(({ name }) => name));
  const mountsCache = volumeMounts.find(({ name }) => claimed.has(name));
  const inMemory = new Set(spec.volumes.filter(({ emptyDir }) => emptyDir?.medium === 'Memory').map(({ name }) => name));
  const writable = volumeMounts.flatMap(({ name, mountPath }) => (inMemory.has(name) ? mountPath : []));
  const isOnDisk = ({ name, emptyDir }: Pod['spec']['volumes'][number]): boolean =>
    emptyDir !== undefined && !inMemory.has(name) && name !== 'inbox';
  const onDisk = new Set(spec.volumes.filter(isOnDisk).map(({ name }) => name));
  return {
    ...(mountsCache && spec.nodeName !== undefined ? { nodeCache: { node: spec.nodeName, target: mountsCache.mountPath } } : {}),
    ...(stdin && { workspace: { root: undefined, writable: writable.filter((place) => !['/tmp', '/dev/shm'].includes(place)) } }),
    volumes: volumeMounts.flatMap(({ name, mountPath }) => (onDisk.has(name) ? { name, target: mountPath } : [])),
    environment: Object.fromEntries(env.map(({ name, value }) => [name, value])),
    limits: { memoryBytes: memory, cpus: cpu, processes: 0, diskBytes, lifetimeSeconds: spec.activeDeadlineSeconds ?? 86_400 },
    network: CLOSED.has(metadata.labels[NETWORK] ?? 'none') ? 'none' : 'host',
    reaches: metadata.labels[NETWORK] === 'dial-back' ? portOf(env.find(({ name }) => name === 'MUSTER_DIAL_URL')?.value) : undefined,
  };
}

function portOf(url: string | undefined): number | undefined {
  return url === undefined ? undefined : Number(new URL(url).port);
}

const UNITS: Readonly<Record<string, number>> = { '': 1, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

function bytesOf(text: string): number {
  const [, number = '', unit = ''] = /^([0-9.]+)(\w*)$/.exec(text) ?? [];
  return Number(number) * (UNITS[unit] ?? Number.NaN);
}
