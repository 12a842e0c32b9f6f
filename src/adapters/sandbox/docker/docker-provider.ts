import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { createAbortError } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InputError } from '../../../kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import { Once } from '../../../kernel/once.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../../../pool/ports/sandbox.ts';
import type { Isolation, LimitEnforcement, SandboxTemplate } from '../../../pool/ports/template.ts';
import { Inbox } from '../local/inbox.ts';
import { getOwnerDirectory, identifyThisProcess, openOwnerDirectory } from '../local/owner-record.ts';
import { checkTemplate } from '../local/template/template-check.ts';
import { ProviderSandboxes } from '../provider-sandboxes.ts';
import type { AttachedStreams } from './attached-streams.ts';
import { buildContainerOptions, nameContainer } from './container-options.ts';
import { createDaemonError } from './daemon-error.ts';
import { Daemon, type DaemonLimits } from './daemon.ts';
import { DockerSandbox } from './docker-sandbox.ts';
import { getDockerPart } from './docker-template.ts';
import { ensureImage } from './images.ts';
import type { DockerPart } from './settings.ts';
import { sweepContainers, sweepDirectories, sweepSkeletons } from './sweep.ts';

export interface DockerOptions {
  /** Its directory `docker` has the inboxes of sandboxes and the records of owners. */
  readonly stateDir: string;
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** Reports what goes wrong without anything failing for it. */
  readonly log?: (message: string) => void;
  /** Daemons to sweep before anything has been made there. */
  readonly sockets?: readonly string[];
}

/** Creates the provider of containers of this machine's Docker daemon. They are labelled with their owner, by which a sweep finds them. */
export function createDockerProvider(options: DockerOptions): SandboxProvider {
  return new DockerProvider(options);
}

interface Site {
  readonly directory: string;
  readonly inbox: Inbox;
}

interface Running {
  readonly daemon: Daemon;
  readonly container: string;
  readonly streams: AttachedStreams;
}

class DockerProvider implements SandboxProvider {
  readonly name = 'docker';
  readonly owner: OwnerId;
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  readonly #stateDir: string;
  /** Daemons by their socket. */
  readonly #daemons = new Map<string, Daemon>();
  readonly #sandboxes = new ProviderSandboxes();
  /** The record is written before anything that a sweep would have to find. */
  readonly #directory = new Once(() => openOwnerDirectory(this.#stateDir, this.owner, []));
  #closed: Promise<void> | undefined;

  constructor({ stateDir, owner, clock, log = () => {}, sockets = [] }: DockerOptions) {
    this.owner = owner;
    this.#clock = clock;
    this.#log = log;
    this.#stateDir = path.resolve(stateDir, 'docker');
    for (const socket of sockets) this.#getDaemon(socket);
  }

  async describe(template: SandboxTemplate): Promise<Isolation> {
    checkForDocker(template);
    const part = getDockerPart(template);
    const daemon = this.#getDaemon(part.socket);
    try {
      const isolation = describeDockerIsolation(template, part, await daemon.info());
      await ensureImage(daemon, part);
      return isolation;
    } catch (error) {
      throw createDaemonError(part.socket, error, 'the daemon could not be checked for what sandboxes need');
    }
  }

  create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    return this.#sandboxes.create(signal, (either) => this.#create(spec, either));
  }

  async sweep(signal: AbortSignal): Promise<readonly SandboxId[]> {
    const swept: SandboxId[] = [];
    for (const [socket, daemon] of this.#daemons) {
      try {
        swept.push(...(await sweepContainers(daemon, this.owner, signal)));
        await sweepSkeletons(daemon, this.#clock.date(), signal);
      } catch (error) {
        throw createDaemonError(socket, error, 'old containers could not be removed');
      }
    }
    return [...new Set([...swept, ...(await sweepDirectories(this.#stateDir, this.owner, signal))])];
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #getDaemon(socket: string): Daemon {
    const known = this.#daemons.get(socket) ?? new Daemon(socket);
    this.#daemons.set(socket, known);
    return known;
  }

  async #create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    const isolation = await this.describe(spec.template);
    const part = getDockerPart(spec.template);
    await this.#directory.run();
    if (signal.aborted) throw createAbortError(signal);
    const site = await this.#makeSite(spec.id);
    const daemon = this.#getDaemon(part.socket);
    let container: string | undefined;
    try {
      container = await this.#createContainer(spec, part, site);
      if (signal.aborted) throw createAbortError(signal);
      const streams = await daemon.start(container);
      if (signal.aborted) streams.close();
      if (signal.aborted) throw createAbortError(signal);
      return this.#makeSandbox(spec, isolation, site, { daemon, container, streams });
    } catch (error) {
      await this.#abandon(site, daemon, container);
      if (signal.aborted) throw createAbortError(signal);
      throw createDaemonError(part.socket, error, `sandbox ${spec.id} could not be made`);
    }
  }

  async #makeSite(id: SandboxId): Promise<Site> {
    const directory = path.join(getOwnerDirectory(this.#stateDir, this.owner), id);
    await mkdir(directory);
    const inbox = new Inbox(directory);
    await inbox.open();
    return { directory, inbox };
  }

  /** A requested container may exist: the request is not aborted before its answer has named the container. */
  async #createContainer({ id, template }: SandboxSpec, part: DockerPart, { inbox }: Site): Promise<string> {
    const plan = { owner: this.owner, id, template, part, process: await identifyThisProcess(), inbox: inbox.directory };
    return this.#getDaemon(part.socket).create(nameContainer(this.owner, id), buildContainerOptions(plan));
  }

  #makeSandbox({ id, template }: SandboxSpec, isolation: Isolation, site: Site, running: Running): Sandbox {
    const { lifetimeSeconds } = template.limits;
    const parts = { id, isolation, ...running, ...site, clock: this.#clock, lifetimeSeconds };
    return this.#sandboxes.hold((onGone) => new DockerSandbox({ ...parts, onGone }));
  }

  async #abandon({ directory, inbox }: Site, daemon: Daemon, container: string | undefined): Promise<void> {
    try {
      if (container !== undefined) await daemon.remove(container);
      await inbox.close();
      await rm(directory, { recursive: true, force: true });
    } catch (error) {
      this.#log(`Docker: what was begun in ${directory} is left to the sweep: ${String(error)}`);
    }
  }

  async #close(): Promise<void> {
    await this.#sandboxes.stopCreating();
    await this.#sandboxes.destroyAll();
    await rm(getOwnerDirectory(this.#stateDir, this.owner), { recursive: true, force: true });
  }
}

/** The daemon takes no less. */
const MEMORY_MIN_BYTES = 6 * 2 ** 20;
const CONTAINER: LimitEnforcement = { scope: 'tree', by: 'container' };
const NONE: LimitEnforcement = { scope: 'none', by: 'none' };

/** @throws InputError `template.invalid` for what no container can be made of. */
function checkForDocker(template: SandboxTemplate): void {
  checkTemplate(template);
  const { name, limits, network } = template;
  if (limits.memoryBytes < MEMORY_MIN_BYTES) {
    const problem = `limits.memoryBytes is ${limits.memoryBytes}; expected at least ${MEMORY_MIN_BYTES}, which is the least that Docker takes`;
    throw new InputError('template.invalid', `template "${name}": ${problem}`);
  }
  if (network !== 'none') throw new InputError('template.invalid', `template "${name}": network is ${network}; expected none`);
}

/** @throws InputError `template.limit-unavailable` for a demand that the daemon cannot meet. */
function describeDockerIsolation(template: SandboxTemplate, { runtime }: DockerPart, daemon: DaemonLimits): Isolation {
  const isolation: Isolation = {
    mechanism: runtime === undefined ? 'docker' : `docker (${runtime})`,
    limits: {
      memory: daemon.MemoryLimit ? CONTAINER : NONE,
      processes: daemon.PidsLimit ? CONTAINER : NONE,
      cpu: daemon.CpuCfsQuota ? CONTAINER : NONE,
      disk: { scope: 'tree', by: 'tmpfs' },
      lifetime: { scope: 'tree', by: 'timer' },
    },
  };
  const missing = template.demands.find((demand) => isolation.limits[demand].scope !== 'tree');
  if (missing === undefined) return isolation;
  const problem = `template "${template.name}" demands the limit "${missing}", which this Docker daemon cannot enforce ("docker info" says why)`;
  throw new InputError('template.limit-unavailable', `${problem}: give the daemon control groups, or drop the demand`);
}
