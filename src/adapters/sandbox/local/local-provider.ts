import { rm } from 'node:fs/promises';
import path from 'node:path';
import { createAbortError } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { parseSandboxId, type OwnerId, type SandboxId } from '../../../kernel/ids.ts';
import { Once } from '../../../kernel/once.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../../../pool/ports/sandbox.ts';
import { FRESH } from '../../../pool/ports/exposure.ts';
import type { SharedContent, Sharing } from '../../../pool/ports/shared-content.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import { ProviderSandboxes } from '../provider-sandboxes.ts';
import { type CgroupFiles, kernelCgroupFiles } from './cgroups/cgroup-files.ts';
import { createCreationError, createOutOfMemoryError } from './creation-errors.ts';
import { Inbox } from './inbox.ts';
import { coverDescriptors, type DescriptorCover } from './host/inherited-descriptors.ts';
import type { ApartTemplate, LocalRuntime, OpenRuntime, RuntimeOptions, StartedProgram } from './local-runtime.ts';
import { LocalSandbox } from './local-sandbox.ts';
import { OwnerCgroups } from './cgroups/owner-cgroups.ts';
import { getEtcDirectory, getFilterFile, openOwnerDirectory, getOwnerDirectory } from './owner-record.ts';
import { PairedSandbox } from './paired-sandbox.ts';
import { makeSiteDirectory, prepareSite, type Runtime, type Site, toSandboxSite } from './site.ts';
import { sweepOwners } from './sweep.ts';

export interface LocalOptions extends RuntimeOptions {
  /** Contains the inboxes of sandboxes and the records of owners. Several Musters that share it can sweep after each other. */
  readonly stateDir: string;
  readonly owner: OwnerId;
}

const NOTHING: ReadonlySet<string> = new Set();
const NOT_SHARED: Sharing = {
  digests: [],
  isOn: false,
  isLight: () => Promise.resolve(false),
  waitUntilIncluded: () => Promise.resolve(),
  [Symbol.dispose]: () => {},
};

/**
 * Sandboxes on this machine: each is one program behind a runtime's walls, with a directory of its own and its processes in a control group where
 * there are any. Everything that it makes is beneath the owner's directory and groups, where a sweep finds it.
 */
export class LocalProvider implements SandboxProvider {
  readonly owner: OwnerId;
  readonly #runtime: LocalRuntime;
  readonly #clock: Clock;
  readonly #stateDir: string;
  readonly #files: CgroupFiles;
  readonly #sandboxes = new ProviderSandboxes();
  readonly #opened = new Once(() => this.#open());
  #closed: Promise<void> | undefined;

  constructor(runtime: LocalRuntime, { stateDir, owner, clock, cgroupFiles = kernelCgroupFiles }: LocalOptions) {
    this.owner = owner;
    this.#runtime = runtime;
    this.#clock = clock;
    this.#stateDir = path.resolve(stateDir);
    this.#files = cgroupFiles;
  }

  get name(): string {
    return this.#runtime.name;
  }

  async describe(template: SandboxTemplate): Promise<Isolation> {
    return this.#runtime.describe(template);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    return this.#sandboxes.create(signal, (either) => this.#create(spec, either));
  }

  async share(template: SandboxTemplate, content: readonly SharedContent[], principal: string, signal: AbortSignal): Promise<Sharing> {
    const { runtime } = await this.#prepare();
    return (await runtime.share?.(template, content, principal, signal)) ?? NOT_SHARED;
  }

  async sweep(signal: AbortSignal): Promise<readonly SandboxId[]> {
    const layout = await this.#runtime.findCgroupLayout();
    const swept = await sweepOwners(
      { stateDir: this.#stateDir, layout, owner: this.owner, files: this.#files, clock: this.#clock },
      signal,
    );
    return [...new Set(swept.map(getWholeId))];
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  get #directory(): string {
    return getOwnerDirectory(this.#stateDir, this.owner);
  }

  #prepare(): Promise<Runtime> {
    return this.#opened.run().catch((error: unknown) => {
      throw createCreationError(error, this.#directory);
    });
  }

  async #open(): Promise<Runtime> {
    const layout = await this.#runtime.findCgroupLayout();
    const cgroups = layout && new OwnerCgroups(layout, this.owner, this.#files, this.#clock);
    // The record is written before anything that a sweep would have to find.
    await openOwnerDirectory(this.#stateDir, this.owner, cgroups?.directories ?? []);
    let covered: DescriptorCover | undefined;
    try {
      await cgroups?.open();
      covered = await coverDescriptors();
      return { cgroups, covered, runtime: await this.#openRuntime(cgroups, covered) };
    } catch (error) {
      // The next attempt starts from nothing, and fails, if it must, for its own reason.
      await this.#clear(cgroups, covered);
      throw error;
    }
  }

  #openRuntime(cgroups: OwnerCgroups | undefined, covered: DescriptorCover): Promise<OpenRuntime> {
    return this.#runtime.open({
      directory: this.#directory,
      etc: getEtcDirectory(this.#stateDir, this.owner),
      filter: getFilterFile(this.#stateDir, this.owner),
      cgroups,
      covered,
    });
  }

  async #create({ id, template, audience }: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    const isolation = await this.describe(template);
    const opened = await this.#prepare();
    const sites: Site[] = [];
    const open = async (name: SandboxId): Promise<Site> => {
      const site = await this.#makeSite(name, audience);
      sites.push(site);
      return site;
    };
    try {
      const site = await open(id);
      if (!isApart(template)) return await this.#build(site, template, isolation, opened, signal);
      const policy = await open(derivePolicyId(id));
      return await this.#buildPair({ environment: site, policy }, template, isolation, opened, signal);
    } catch (error) {
      const memoryKills = await Promise.all(sites.map(async ({ cgroup }) => (await cgroup?.countMemoryKills().catch(() => 0)) ?? 0));
      await Promise.all(sites.map((site) => this.#abandon(site)));
      if (signal.aborted) throw createAbortError(signal);
      throw memoryKills.some((count) => count > 0)
        ? createOutOfMemoryError(error, template)
        : createCreationError(error, path.join(this.#directory, id));
    }
  }

  async #makeSite(id: SandboxId, audience: string | undefined): Promise<Site> {
    const directory = path.join(this.#directory, id);
    await makeSiteDirectory(directory, id);
    return { id, audience, directory, inbox: new Inbox(directory) };
  }

  async #build(site: Site, template: SandboxTemplate, isolation: Isolation, opened: Runtime, signal: AbortSignal): Promise<Sandbox> {
    await prepareSite(site, template, opened);
    if (signal.aborted) throw createAbortError(signal);
    return this.#makeSandbox(site, template, isolation, await opened.runtime.start(toSandboxSite(site), template, signal));
  }

  /** Builds two sandboxes on this machine, which the caller uses as one. */
  async #buildPair(
    { environment, policy }: { readonly environment: Site; readonly policy: Site },
    template: ApartTemplate,
    isolation: Isolation,
    opened: Runtime,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    if (!opened.runtime.startPair) throw new RangeError(`${this.name} does not play a policy apart, as it was required to`);
    await prepareSite(environment, template, opened);
    await prepareSite(policy, template, opened);
    if (signal.aborted) throw createAbortError(signal);
    const started = await opened.runtime.startPair(
      { environment: toSandboxSite(environment), policy: toSandboxSite(policy) },
      template,
      signal,
    );
    return new PairedSandbox(
      this.#makeSandbox(environment, template, isolation, started.environment),
      this.#makeSandbox(policy, template, isolation, started.policy),
      this.#clock,
    );
  }

  #makeSandbox(
    site: Site,
    { limits }: SandboxTemplate,
    isolation: Isolation,
    { program, shares = NOTHING, past = FRESH }: StartedProgram,
  ): LocalSandbox {
    const { id, directory, inbox, cgroup } = site;
    const { lifetimeSeconds } = limits;
    const parts = { id, isolation, directory, inbox, cgroup, program, shares, past, clock: this.#clock, lifetimeSeconds };
    return this.#sandboxes.hold((onGone) => new LocalSandbox({ ...parts, onGone }));
  }

  async #abandon({ cgroup, directory }: Site): Promise<void> {
    await cgroup?.remove(this.#clock);
    await rm(directory, { recursive: true, force: true });
  }

  async #close(): Promise<void> {
    await this.#sandboxes.stopCreating();
    const opened = await this.#opened.result();
    // Sandboxes that the runtime holds are gone at once with it; each still removes its own files.
    const ends = await Promise.allSettled([opened?.runtime[Symbol.asyncDispose](), this.#sandboxes.destroyAll()]);
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure) throw createCreationError(failure.reason, this.#directory);
    if (opened) await this.#clear(opened.cgroups, opened.covered);
  }

  /** Removes the record last, so that a sweep finds what could not be removed. */
  async #clear(cgroups: OwnerCgroups | undefined, covered: DescriptorCover | undefined): Promise<void> {
    await cgroups?.close();
    await covered?.close();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

function isApart(template: SandboxTemplate): template is ApartTemplate {
  return template.policy !== undefined;
}

const POLICY_SUFFIX = '-policy';

/** Derives the id of the policy's part of a sandbox. It names directory and control group, so a sweep can tell them from others. */
function derivePolicyId(id: SandboxId): SandboxId {
  return parseSandboxId(`${id}${POLICY_SUFFIX}`);
}

/** Returns the id under which the pool knows the sandbox, given that of either part. */
function getWholeId(id: SandboxId): SandboxId {
  return id.endsWith(POLICY_SUFFIX) ? parseSandboxId(id.slice(0, -POLICY_SUFFIX.length)) : id;
}
