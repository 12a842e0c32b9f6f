import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { BubblewrapRuntime } from '../../../src/adapters/sandbox/bubblewrap/bubblewrap-runtime.ts';
import { buildSystemArguments } from '../../../src/adapters/sandbox/bubblewrap/command/command-line.ts';
import { kernelCgroupFiles } from '../../../src/adapters/sandbox/local/cgroups/cgroup-files.ts';
import { coverDescriptors, type DescriptorCover } from '../../../src/adapters/sandbox/local/host/inherited-descriptors.ts';
import type { OpenRuntime } from '../../../src/adapters/sandbox/local/local-runtime.ts';
import { OwnerCgroups } from '../../../src/adapters/sandbox/local/cgroups/owner-cgroups.ts';
import { getEtcDirectory, getFilterFile, openOwnerDirectory, getOwnerDirectory } from '../../../src/adapters/sandbox/local/owner-record.ts';
import type { SandboxCgroup } from '../../../src/adapters/sandbox/local/cgroups/sandbox-cgroup.ts';
import type { SandboxedProgram } from '../../../src/adapters/sandbox/local/program/sandboxed-program.ts';
import { readSystemView } from '../../../src/adapters/sandbox/local/template/system-view.ts';
import { NODE_CACHE } from '../../../src/adapters/sandbox/kubernetes/pods/pod-manifest.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { type OwnerId, parseSandboxId, type SandboxId } from '../../../src/kernel/ids.ts';
import type { Mount, SandboxTemplate, Zygote } from '../../../src/pool/ports/template.ts';
import { ExitFaults, PodExit } from './pod-exit.ts';
import { killGroup, startRootCommand } from '../root-command.ts';

/** What a node can run: host paths in place of layers. */
export interface SimulatedImage {
  readonly mounts: readonly Mount[];
  /** What programs are forked from, for tests that need many. */
  readonly zygote?: Zygote;
}

/** A command that runs in a container. */
export interface Executed {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Its exit code, once all of its output can be read; undefined when it was its container that ended. */
  readonly ended: Promise<number | undefined>;
}

/** What the cluster's controllers need of a node. */
export type PodNode = Pick<SimulatedNode, 'start' | 'run' | 'runHelper' | 'runCache' | 'memoryKills' | 'kill' | 'remove'>;

export interface ContainerTemplate extends Pick<SandboxTemplate, 'environment' | 'limits' | 'network' | 'workspace'> {
  /** Volumes on the node's disk, as both containers see them. */
  readonly volumes: readonly { readonly name: string; readonly target: string }[];
  /** A port of the machine that it can reach though it has no network, as by a NetworkPolicy. */
  readonly reaches?: number | undefined;
  /** Which node's cache it sees, and where. */
  readonly nodeCache?: { readonly node: string; readonly target: string };
}

/** The runtime's own bound, far above what a test starts: a pod has none. */
const NO_BOUND = 4096;

interface Pod {
  readonly id: SandboxId;
  readonly directory: string;
  readonly programs: Set<SandboxedProgram>;
  readonly helpers: Set<() => void>;
  readonly exits: PodExit[];
  /** Programs that are being started. */
  readonly starts: Set<Promise<unknown>>;
  cgroup: SandboxCgroup | undefined;
  isEnding: boolean;
}

/**
 * A node of the simulated cluster: what is executed in the program's container is a bubblewrap sandbox with the container's limits, made
 * by the same runtime as local sandboxes; what is executed in the inbox's is one that may write the pod's volume. A container that only
 * waits has no process. What a command leaves behind ends with it, where a real node would wait for it.
 */
export class SimulatedNode implements AsyncDisposable {
  readonly exitFaults = new ExitFaults();
  readonly #stateDir: string;
  readonly #owner: OwnerId;
  readonly #runtime: OpenRuntime;
  readonly #cgroups: OwnerCgroups | undefined;
  readonly #covered: DescriptorCover;
  readonly #system: readonly string[];
  readonly #pods = new Map<string, Pod>();
  readonly #caches = new Set<() => Promise<void>>();
  #count = 0;

  private constructor(
    stateDir: string,
    owner: OwnerId,
    runtime: OpenRuntime,
    cgroups: OwnerCgroups | undefined,
    covered: DescriptorCover,
    system: readonly string[],
  ) {
    this.#stateDir = stateDir;
    this.#owner = owner;
    this.#runtime = runtime;
    this.#cgroups = cgroups;
    this.#covered = covered;
    this.#system = system;
  }

  static async open(stateDir: string, owner: OwnerId): Promise<SimulatedNode> {
    const runtime = new BubblewrapRuntime({ clock: systemClock });
    const layout = await runtime.findCgroupLayout();
    const cgroups = layout && new OwnerCgroups(layout, owner, kernelCgroupFiles, systemClock);
    await openOwnerDirectory(stateDir, owner, cgroups?.directories ?? []);
    await cgroups?.open();
    const covered = await coverDescriptors();
    const directory = getOwnerDirectory(stateDir, owner);
    const context = { directory, etc: getEtcDirectory(stateDir, owner), filter: getFilterFile(stateDir, owner), cgroups, covered };
    return new SimulatedNode(stateDir, owner, await runtime.open(context), cgroups, covered, buildSystemArguments(await readSystemView()));
  }

  /** Where the control groups of pods are, beneath each of these. */
  get cgroupDirectories(): readonly string[] {
    return this.#cgroups?.directories ?? [];
  }

  /** The control group of a pod's program, and its directory, are called so. */
  idOf(pod: string): SandboxId | undefined {
    return this.#pods.get(pod)?.id;
  }

  async start(name: string): Promise<void> {
    const id = parseSandboxId(`p${(this.#count += 1)}`);
    const directory = path.join(getOwnerDirectory(this.#stateDir, this.#owner), id);
    this.#pods.set(name, {
      id,
      directory,
      programs: new Set(),
      helpers: new Set(),
      exits: [],
      starts: new Set(),
      cgroup: undefined,
      isEnding: false,
    });
    await mkdir(path.join(directory, 'inbox'), { recursive: true });
  }

  async run(name: string, command: readonly string[], image: SimulatedImage, container: ContainerTemplate): Promise<Executed> {
    const pod = this.#podOf(name);
    const start = this.#launch(pod, command, image, container);
    pod.starts.add(start);
    try {
      const program = await start;
      return { stdin: program.stdin, stdout: program.stdout, stderr: program.stderr, ended: this.#ended(program) };
    } finally {
      pod.starts.delete(start);
    }
  }

  async #launch(pod: Pod, command: readonly string[], image: SimulatedImage, container: ContainerTemplate): Promise<SandboxedProgram> {
    const { directory, id } = pod;
    const { reaches, nodeCache, volumes, ...walls } = container;
    const cache = nodeCache ? [{ source: await this.#cacheDirectory(nodeCache.node), target: nodeCache.target }] : [];
    const exit = await this.#exitOf(pod, 'program', command, reaches);
    const mounts = [...image.mounts, ...cache, ...(await volumesOf(pod, volumes)), ...(exit?.mounts ?? [])];
    const rest = { name: 'pod', command: exit?.command ?? command, mounts, demands: [] };
    const template = {
      ...walls,
      limits: { ...container.limits, processes: NO_BOUND },
      ...rest,
      ...(image.zygote && { zygote: image.zygote }),
    };
    const isMade = this.#runtime.makesCgroup?.(template) === true;
    pod.cgroup = isMade ? this.#cgroups?.getCgroup(id) : (pod.cgroup ?? (await this.#cgroups?.create(id, template.limits)));
    const site = { id, directory, inbox: path.join(directory, 'inbox'), cgroup: pod.cgroup };
    const { program } = await this.#runtime.start(site, template, new AbortController().signal);
    pod.programs.add(program);
    if (pod.isEnding) program.kill();
    return program;
  }

  /** In the container that may write the inbox. */
  async runHelper(name: string, command: readonly string[], image: SimulatedImage, container: ContainerTemplate): Promise<Executed> {
    const pod = this.#podOf(name);
    const exit = await this.#exitOf(pod, 'inbox', command, container.reaches);
    const variables = Object.entries({ PATH: '/usr/bin:/bin', ...container.environment });
    const walls = ['--unshare-all', '--die-with-parent', '--uid', '1000', '--gid', '1000', '--clearenv'];
    const reach = container.network === 'host' ? ['--share-net'] : [];
    const environment = variables.flatMap(([variable, value]) => ['--setenv', variable, value]);
    const mounts = [...image.mounts, ...(exit?.mounts ?? [])].flatMap(({ source, target }) => ['--ro-bind', source, target]);
    const files = [...this.#system, '--dev', '/dev', '--proc', '/proc', ...mounts];
    const volumes = await volumesOf(pod, container.volumes);
    const inbox = ['--bind', path.join(pod.directory, 'inbox'), '/muster/inbox'].concat(
      volumes.flatMap(({ source, target }) => ['--bind', source, target]),
    );
    const child = spawn('bwrap', [...walls, ...reach, ...environment, ...files, ...inbox, ...(exit?.command ?? command)], {
      stdio: 'pipe',
      detached: true,
    });
    const kill = (): void => killGroup(child);
    pod.helpers.add(kill);
    child.stdin.on('error', () => {});
    const ended = once(child, 'close').then(() => {
      pod.helpers.delete(kill);
      return child.exitCode ?? undefined;
    });
    if (pod.isEnding) kill();
    return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, ended };
  }

  /** @returns how the command has to be started to have the way out; undefined when there is none. */
  async #exitOf(pod: Pod, container: string, command: readonly string[], port: number | undefined): Promise<PodExit | undefined> {
    if (port === undefined) return undefined;
    const exit = await PodExit.open(path.join(pod.directory, `${container}.sock`), port, command, this.exitFaults);
    pod.exits.push(exit);
    return exit;
  }

  /** In the pod that keeps a node's cache. */
  async runCache(
    node: string,
    command: readonly string[],
    image: SimulatedImage,
    environment: Readonly<Record<string, string>>,
  ): Promise<Executed> {
    const { exit, destroy, ...streams } = await startRootCommand({
      command,
      environment,
      files: await this.#cacheDirectory(node),
      target: NODE_CACHE,
      baked: image.mounts,
      hasNetwork: true,
    });
    this.#caches.add(destroy);
    const ended = exit.then((end) => {
      this.#caches.delete(destroy);
      return end.kind === 'exited' ? end.code : undefined;
    });
    return { ...streams, ended };
  }

  /** Where a node has its cache, on this machine. */
  async #cacheDirectory(node: string): Promise<string> {
    const directory = path.join(this.#stateDir, 'nodes', node);
    await mkdir(directory, { recursive: true });
    return directory;
  }

  async memoryKills(name: string): Promise<number> {
    return (await this.#pods.get(name)?.cgroup?.countMemoryKills()) ?? 0;
  }

  /** Ends all that runs in the pod, at once. */
  kill(name: string): void {
    const pod = this.#pods.get(name);
    for (const program of pod?.programs ?? []) program.kill();
    for (const end of pod?.helpers ?? []) end();
  }

  /** Resolves when nothing is left of it. */
  async remove(name: string): Promise<void> {
    const pod = this.#pods.get(name);
    if (!pod) return;
    pod.isEnding = true;
    await Promise.allSettled(pod.starts);
    this.kill(name);
    await Promise.all([...pod.programs].map((program) => program.ended));
    if (!pod.cgroup) await Promise.all([...pod.programs].map((program) => program.waitUntilGone()));
    await pod.cgroup?.remove(systemClock);
    await Promise.all(pod.exits.map((exit) => exit[Symbol.asyncDispose]()));
    await rm(pod.directory, { recursive: true, force: true, maxRetries: 5 });
    this.#pods.delete(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pods.keys()].map((name) => this.remove(name)));
    await Promise.all([...this.#caches].map((end) => end()));
    await this.#runtime[Symbol.asyncDispose]();
    await this.#cgroups?.close();
    await this.#covered.close();
    await rm(getOwnerDirectory(this.#stateDir, this.#owner), { recursive: true, force: true });
  }

  async #ended(program: SandboxedProgram): Promise<number | undefined> {
    const end = await program.ended;
    program.stdout.drain();
    program.stderr.drain();
    await Promise.all([program.stdout.complete, program.stderr.complete]);
    return end.kind === 'exited' ? end.code : undefined;
  }

  #podOf(name: string): Pod {
    const pod = this.#pods.get(name);
    if (!pod || pod.isEnding) throw new Error(`no pod ${name} runs here`);
    return pod;
  }
}

async function volumesOf({ directory }: Pod, volumes: ContainerTemplate['volumes']): Promise<readonly Mount[]> {
  const mounts = volumes.map(({ name, target }) => ({ source: path.join(directory, 'volumes', name), target }));
  for (const { source } of mounts) await mkdir(source, { recursive: true });
  return mounts;
}
