import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { abortError } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError, messageOf, MusterError } from '../../../kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../../../pool/sandbox.ts';
import type { SharedContent, Sharing } from '../../../pool/shared-content.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/template.ts';
import { type Capabilities, findBubblewrap, probeCapabilities } from './capabilities.ts';
import { type CgroupFiles, kernelCgroupFiles } from '../local/cgroup-files.ts';
import { bubblewrapArguments, environmentArguments, systemArguments } from './command-line.ts';
import { Inbox } from '../local/inbox.ts';
import { LocalSandbox } from '../local/local-sandbox.ts';
import { coverDescriptors, type DescriptorCover } from '../local/inherited-descriptors.ts';
import { isForked, isolationFor } from './isolation.ts';
import { type Launch, launch } from './launcher.ts';
import { PlainProgram } from './plain-program.ts';
import { OwnerCgroups } from '../local/owner-cgroups.ts';
import { etcDirectory, filterFile, openOwnerDirectory, ownerDirectory } from '../local/owner-record.ts';
import type { SandboxCgroup } from '../local/sandbox-cgroup.ts';
import type { SandboxedProgram } from '../local/sandboxed-program.ts';
import { sweepOwners } from '../local/sweep.ts';
import { type WardenGround, Wardens } from '../zygote/wardens.ts';

export interface BubblewrapOptions {
  /** Where sandboxes have their inboxes and owners their records. Musters that share it can sweep after each other. */
  readonly stateDir: string;
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** Looked up in PATH unless it is a path. */
  readonly bwrapPath?: string;
  /** `none` does without control groups where there are some. */
  readonly cgroups?: 'detect' | 'none';
  /** The control-group file system. */
  readonly cgroupFiles?: CgroupFiles;
  /** Told what goes wrong without anything failing for it. */
  readonly log?: (message: string) => void;
}

/**
 * Local sandboxes: each is one program under bubblewrap, with its process tree in a control group where there are any. It is forked
 * from a zygote where the template brings one, and started by a bubblewrap of its own otherwise.
 */
export function createBubblewrapProvider(options: BubblewrapOptions): SandboxProvider {
  return new BubblewrapProvider(options);
}

const NOTHING: ReadonlySet<string> = new Set();

/** Processes that are in a sandbox's control group beside the program and its descendants: bubblewrap's monitor and its reaper. */
const BUBBLEWRAP_PROCESSES = 2;
/** Of a forked sandbox, the one that holds the walls. */
const WALLS_PROCESSES = 1;

/** What all sandboxes of one provider stand on. */
interface Ground {
  readonly capabilities: Capabilities;
  readonly bwrap: string;
  readonly system: readonly string[];
  readonly cgroups: OwnerCgroups | undefined;
  readonly covered: DescriptorCover;
  readonly wardens: Wardens;
}

/** A sandbox that is being made: removed piece by piece when it fails. */
interface Site {
  readonly directory: string;
  readonly inbox: Inbox;
  cgroup?: SandboxCgroup;
  sandbox?: LocalSandbox;
}

class BubblewrapProvider implements SandboxProvider {
  readonly name = 'bubblewrap';
  readonly owner: OwnerId;
  readonly #clock: Clock;
  readonly #stateDir: string;
  readonly #files: CgroupFiles;
  readonly #options: BubblewrapOptions;
  readonly #sandboxes = new Map<SandboxId, LocalSandbox>();
  readonly #creations = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #capabilities: Promise<Capabilities> | undefined;
  #ground: Promise<Ground> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: BubblewrapOptions) {
    this.owner = options.owner;
    this.#options = options;
    this.#clock = options.clock;
    this.#stateDir = path.resolve(options.stateDir);
    this.#files = options.cgroupFiles ?? kernelCgroupFiles;
  }

  async describe(template: SandboxTemplate): Promise<Isolation> {
    return isolationFor(template, await this.#probe());
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    if (either.aborted) throw abortError(either);
    const creation = this.#create(spec, either);
    this.#creations.add(creation);
    try {
      return await creation;
    } finally {
      this.#creations.delete(creation);
    }
  }

  async share(template: SandboxTemplate, content: readonly SharedContent[], signal: AbortSignal): Promise<Sharing> {
    const { capabilities, wardens } = await this.#prepare();
    if (!isForked(template, capabilities)) return { digests: [], isOn: false, [Symbol.dispose]: () => {} };
    return wardens.share(template, content, signal);
  }

  async sweep(signal: AbortSignal): Promise<readonly SandboxId[]> {
    return sweepOwners({ stateDir: this.#stateDir, owner: this.owner, files: this.#files, clock: this.#clock }, signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #probe(): Promise<Capabilities> {
    const { bwrapPath = 'bwrap', cgroups = 'detect' } = this.#options;
    this.#capabilities ??= probeCapabilities({ bwrapPath, cgroups, files: this.#files });
    return this.#capabilities;
  }

  #prepare(): Promise<Ground> {
    this.#ground ??= this.#open().catch((error: unknown) => {
      this.#ground = undefined;
      throw creationError(error, ownerDirectory(this.#stateDir, this.owner));
    });
    return this.#ground;
  }

  async #open(): Promise<Ground> {
    const { bwrapPath = 'bwrap' } = this.#options;
    const [capabilities, bwrap, system] = await Promise.all([this.#probe(), findBubblewrap(bwrapPath), systemArguments()]);
    const cgroups = capabilities.layout && new OwnerCgroups(capabilities.layout, this.owner, this.#files, this.#clock);
    // The record stands before there is anything that a sweep would have to find.
    await openOwnerDirectory(this.#stateDir, this.owner, cgroups?.directories ?? []);
    try {
      await cgroups?.open();
      return this.#groundOf({ capabilities, bwrap: bwrap ?? bwrapPath, system, cgroups, covered: await coverDescriptors() });
    } catch (error) {
      // The next attempt starts from nothing, and fails, if it must, for its own reason.
      await cgroups?.close();
      await rm(ownerDirectory(this.#stateDir, this.owner), { recursive: true, force: true });
      throw error;
    }
  }

  async #create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    const isolation = await this.describe(spec.template);
    const ground = await this.#prepare();
    const directory = path.join(ownerDirectory(this.#stateDir, this.owner), spec.id);
    await makeSite(directory, spec.id);
    const site: Site = { directory, inbox: new Inbox(directory) };
    try {
      await this.#build(spec, ground, isolation, site, signal);
    } catch (error) {
      await this.#abandon(site);
      throw signal.aborted ? abortError(signal) : creationError(error, directory);
    }
    if (!site.sandbox) throw new InfrastructureError('sandbox.start', `${directory}: no sandbox was made`);
    return site.sandbox;
  }

  async #build(spec: SandboxSpec, ground: Ground, isolation: Isolation, site: Site, signal: AbortSignal): Promise<void> {
    const { id, template } = spec;
    await site.inbox.open();
    const beside = isForked(template, ground.capabilities) ? WALLS_PROCESSES : BUBBLEWRAP_PROCESSES;
    const cgroup = await ground.cgroups?.create(id, { ...template.limits, processes: template.limits.processes + beside });
    if (cgroup) site.cgroup = cgroup;
    if (signal.aborted) throw abortError(signal);
    const { program, shares } = isForked(template, ground.capabilities)
      ? await ground.wardens.fork(id, template, signal)
      : { program: await this.#start(template, ground, site, signal), shares: NOTHING };
    const sandbox = new LocalSandbox({
      id,
      isolation,
      directory: site.directory,
      inbox: site.inbox,
      cgroup,
      program,
      shares,
      clock: this.#clock,
      lifetimeSeconds: template.limits.lifetimeSeconds,
      onGone: () => this.#sandboxes.delete(id),
    });
    site.sandbox = sandbox;
    this.#sandboxes.set(id, sandbox);
  }

  async #start(template: SandboxTemplate, ground: Ground, site: Site, signal: AbortSignal): Promise<SandboxedProgram> {
    const program = new PlainProgram(await launch(this.#plan(template, ground, site)), site.directory, this.#clock);
    await program.begin(site.cgroup === undefined, signal);
    return program;
  }

  #groundOf(found: Omit<Ground, 'wardens'>): Ground {
    const { memory, processes } = found.capabilities.limits;
    const ground: WardenGround = {
      bwrap: found.bwrap,
      system: found.system,
      etc: etcDirectory(this.#stateDir, this.owner),
      directory: ownerDirectory(this.#stateDir, this.owner),
      cgroups: found.cgroups?.directories ?? [],
      rlimits: { memory: memory.by === 'rlimit', processes: processes.by === 'rlimit' },
      covered: found.covered,
      clock: this.#clock,
    };
    return { ...found, wardens: new Wardens(ground, this.#options.log ?? (() => {})) };
  }

  #plan(template: SandboxTemplate, { bwrap, system, capabilities, covered }: Ground, { inbox, cgroup }: Site): Launch {
    const view = { system, etc: etcDirectory(this.#stateDir, this.owner), inbox: inbox.directory };
    const { memory, processes } = capabilities.limits;
    return {
      bubblewrap: [bwrap, ...bubblewrapArguments(template, view)],
      unlisted: environmentArguments(template.environment),
      filter: filterFile(this.#stateDir, this.owner),
      program: template.command,
      limits: template.limits,
      covered,
      memberFiles: cgroup?.memberFiles ?? [],
      rlimits: { memory: memory.by === 'rlimit', processes: processes.by === 'rlimit' },
    };
  }

  async #abandon({ sandbox, cgroup, directory }: Site): Promise<void> {
    if (sandbox) return sandbox.destroy();
    await cgroup?.remove(this.#clock);
    await rm(directory, { recursive: true, force: true });
  }

  async #close(): Promise<void> {
    this.#closing.abort(new InfrastructureError('sandbox.provider-closed', 'the sandbox provider has been closed'));
    await Promise.allSettled(this.#creations);
    const ground = await this.#ground?.catch(() => undefined);
    const destructions = [...this.#sandboxes.values()].map((sandbox) => sandbox.destroy());
    // With its warden every forked sandbox is gone at once; each still tidies up after itself.
    const ends = await Promise.allSettled([ground?.wardens[Symbol.asyncDispose](), ...destructions]);
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure) throw creationError(failure.reason, ownerDirectory(this.#stateDir, this.owner));
    await ground?.cgroups?.close();
    await ground?.covered.close();
    if (ground) await rm(ownerDirectory(this.#stateDir, this.owner), { recursive: true, force: true });
  }
}

/** Records the intent: from here on a sweep finds the sandbox, whatever has been made of it. */
async function makeSite(directory: string, id: SandboxId): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    throw creationError(error, `${directory}: sandbox "${id}"`);
  }
}

function creationError(error: unknown, subject: string): MusterError {
  if (error instanceof MusterError) return error;
  return new InfrastructureError('sandbox.create', `${subject}: ${messageOf(error)}`, { cause: error });
}
