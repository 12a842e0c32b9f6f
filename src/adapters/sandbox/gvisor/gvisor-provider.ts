import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { abortError, untilAborted } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError, messageOf, MusterError } from '../../../kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../../../pool/sandbox.ts';
import type { Isolation, SandboxLimits, SandboxTemplate } from '../../../pool/template.ts';
import { type CgroupFiles, kernelCgroupFiles } from '../local/cgroup-files.ts';
import { Inbox } from '../local/inbox.ts';
import { coverDescriptors, type DescriptorCover } from '../local/inherited-descriptors.ts';
import { OwnerCgroups } from '../local/owner-cgroups.ts';
import { openOwnerDirectory, ownerDirectory } from '../local/owner-record.ts';
import type { SandboxCgroup } from '../local/sandbox-cgroup.ts';
import { sweepOwners } from '../local/sweep.ts';
import { type SystemView, systemView, writeBundle } from './bundle.ts';
import { type GvisorCapabilities, probeGvisor } from './capabilities.ts';
import { checkSocketPath, type Runsc, runscCommand } from './command-line.ts';
import { GvisorSandbox } from './gvisor-sandbox.ts';
import { isolationFor } from './isolation.ts';
import { launch } from './launcher.ts';

export interface GvisorOptions {
  /** Where sandboxes have their inboxes and owners their records. Musters that share it can sweep after each other. */
  readonly stateDir: string;
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** Looked up in PATH unless it is a path. */
  readonly runscPath?: string;
  /** `none` does without control groups where there are some. */
  readonly cgroups?: 'detect' | 'none';
  /** The control-group file system. */
  readonly cgroupFiles?: CgroupFiles;
}

/** Local sandboxes: each is one program on a kernel of its own, gVisor's, all of it in a control group where there are any. */
export function createGvisorProvider(options: GvisorOptions): SandboxProvider {
  return new GvisorProvider(options);
}

/** What all sandboxes of one provider stand on. */
interface Ground {
  readonly runsc: Runsc;
  readonly system: SystemView;
  readonly cgroups: OwnerCgroups | undefined;
  readonly covered: DescriptorCover;
}

/** A sandbox that is being made: removed piece by piece when it fails. */
interface Site {
  readonly directory: string;
  readonly inbox: Inbox;
  cgroup?: SandboxCgroup;
  sandbox?: GvisorSandbox;
}

class GvisorProvider implements SandboxProvider {
  readonly name = 'gvisor';
  readonly owner: OwnerId;
  readonly #clock: Clock;
  readonly #stateDir: string;
  readonly #files: CgroupFiles;
  readonly #options: GvisorOptions;
  readonly #sandboxes = new Map<SandboxId, GvisorSandbox>();
  readonly #creations = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #capabilities: Promise<GvisorCapabilities> | undefined;
  #ground: Promise<Ground> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: GvisorOptions) {
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

  async sweep(signal: AbortSignal): Promise<readonly SandboxId[]> {
    return sweepOwners({ stateDir: this.#stateDir, owner: this.owner, files: this.#files, clock: this.#clock }, signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #probe(): Promise<GvisorCapabilities> {
    const { runscPath = 'runsc', cgroups = 'detect' } = this.#options;
    this.#capabilities ??= probeGvisor({ runscPath, cgroups, files: this.#files });
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
    const [{ runsc, layout }, system] = await Promise.all([this.#probe(), systemView()]);
    if (!runsc) throw new InfrastructureError('sandbox.unavailable', 'runsc makes no sandboxes on this machine; see muster doctor');
    const cgroups = layout && new OwnerCgroups(layout, this.owner, this.#files, this.#clock);
    // The record stands before there is anything that a sweep would have to find.
    await openOwnerDirectory(this.#stateDir, this.owner, cgroups?.directories ?? []);
    try {
      await cgroups?.open();
      return { runsc, system, cgroups, covered: await coverDescriptors() };
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
    checkSocketPath(directory);
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
    const { inbox, directory } = site;
    await inbox.open();
    const memoryByProcess = isolation.limits.memory.by === 'rlimit';
    await writeBundle(directory, { template, system: ground.system, inbox: inbox.directory, memoryByProcess });
    const cgroup = await ground.cgroups?.create(id, { ...template.limits, processes: hostProcesses(template.limits) });
    if (cgroup) site.cgroup = cgroup;
    if (signal.aborted) throw abortError(signal);
    const command = runscCommand(ground.runsc, template.network, directory);
    const launched = await launch({ command, covered: ground.covered, memberFiles: cgroup?.memberFiles ?? [] });
    const sandbox = new GvisorSandbox({
      id,
      isolation,
      directory,
      inbox,
      cgroup,
      launched,
      clock: this.#clock,
      lifetimeSeconds: template.limits.lifetimeSeconds,
      onGone: () => this.#sandboxes.delete(id),
    });
    site.sandbox = sandbox;
    this.#sandboxes.set(id, sandbox);
    await untilAborted(sandbox.waitForStart(), signal);
  }

  async #abandon({ sandbox, cgroup, directory }: Site): Promise<void> {
    if (sandbox) return sandbox.destroy();
    await cgroup?.remove(this.#clock);
    await rm(directory, { recursive: true, force: true });
  }

  async #close(): Promise<void> {
    this.#closing.abort(new InfrastructureError('sandbox.provider-closed', 'the sandbox provider has been closed'));
    await Promise.allSettled(this.#creations);
    const ends = await Promise.allSettled([...this.#sandboxes.values()].map((sandbox) => sandbox.destroy()));
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure) throw creationError(failure.reason, ownerDirectory(this.#stateDir, this.owner));
    const ground = await this.#ground?.catch(() => undefined);
    await ground?.cgroups?.close();
    await ground?.covered.close();
    if (ground) await rm(ownerDirectory(this.#stateDir, this.owner), { recursive: true, force: true });
  }
}

/**
 * The control group's count is a second line behind gVisor's own, which holds the program to the template's number: gVisor
 * needs up to six threads of the host for a process inside, some more for itself, and does not survive being refused one.
 */
function hostProcesses({ processes }: SandboxLimits): number {
  return 8 * processes + 128;
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
