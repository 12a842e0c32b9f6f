import type { FileHandle } from 'node:fs/promises';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { SharedContent, Sharing } from '../../../pool/ports/shared-content.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import { kernelCgroupFiles } from '../local/cgroups/cgroup-files.ts';
import type { CgroupLayout } from '../local/cgroups/cgroup-layout.ts';
import { requireDemands } from '../local/cgroups/enforced-limits.ts';
import { findProgram } from '../local/host/find-program.ts';
import { INSIDE_UID } from '../local/host/inside-identity.ts';
import type {
  ApartTemplate,
  LocalHost,
  LocalRuntime,
  OpenRuntime,
  PairedSites,
  RuntimeOptions,
  SandboxSite,
  StartedPair,
  StartedProgram,
} from '../local/local-runtime.ts';
import { type LaunchedProcess, LaunchedProgram } from '../local/program/launched-program.ts';
import { readRootView, readSystemView } from '../local/template/system-view.ts';
import { checkTemplate } from '../local/template/template-check.ts';
import type { ForkableTemplate } from '../zygote/warden-settings.ts';
import { Wardens } from '../zygote/wardens.ts';
import { type Capabilities, probeCapabilities } from './capabilities.ts';
import { LATE_REMEDY } from '../local/trial.ts';
import { BubblewrapProcesses } from './command/bubblewrap-processes.ts';
import { buildBubblewrapArguments, buildEnvironmentArguments, buildSystemArguments } from './command/command-line.ts';
import { type Launch, launch, launchJoined } from './command/launcher.ts';
import { isNeeded, openOwnUser, type OwnUser, getPath } from './command/own-user.ts';

export interface BubblewrapSettings extends RuntimeOptions {
  /** Looked up in PATH unless it is a path. */
  readonly bwrapPath?: string;
  /** Milliseconds for each trial of what the machine allows. */
  readonly trialMs?: number | undefined;
  /** Reports problems that fail nothing. */
  readonly log?: (message: string) => void;
}

/** Processes that are in a plain sandbox's control group beside the program and its descendants: bubblewrap's monitor and the first process. */
const BUBBLEWRAP_PROCESSES = 2;

/** Walls of namespaces, which bubblewrap builds, or a warden that bubblewrap has started. */
export class BubblewrapRuntime implements LocalRuntime {
  readonly name = 'bubblewrap';
  readonly #settings: BubblewrapSettings;
  #capabilities: Promise<Capabilities> | undefined;

  constructor(settings: BubblewrapSettings) {
    this.#settings = settings;
  }

  async describe(template: SandboxTemplate): Promise<Isolation> {
    return describeIsolation(template, await this.#probe());
  }

  async findCgroupLayout(): Promise<CgroupLayout | undefined> {
    return (await this.#probe()).layout;
  }

  async open(context: LocalHost): Promise<OpenRuntime> {
    const { bwrapPath = 'bwrap', clock, log = () => {} } = this.#settings;
    const [capabilities, bwrap = bwrapPath, view] = await Promise.all([this.#probe(), findProgram(bwrapPath), readSystemView()]);
    const { memory, processes } = capabilities.limits;
    const rlimits = { memory: memory.by === 'rlimit', processes: processes.by === 'rlimit' };
    const ownUser = (await isNeeded()) ? await openOwnUser() : undefined;
    return new OpenBubblewrap({ ...context, capabilities, bwrap, system: buildSystemArguments(view), rlimits, ownUser }, clock, log);
  }

  /** @throws InfrastructureError `sandbox.unavailable` when a trial was late; then the next caller tries again. */
  async #probe(): Promise<Capabilities> {
    const { bwrapPath = 'bwrap', cgroups = 'detect', cgroupFiles = kernelCgroupFiles, trialMs } = this.#settings;
    const probing = (this.#capabilities ??= probeCapabilities({ bwrapPath, cgroups, files: cgroupFiles, trialMs }));
    const capabilities = await probing;
    if (capabilities.late === undefined) return capabilities;
    if (this.#capabilities === probing) this.#capabilities = undefined;
    throw new InfrastructureError(
      'sandbox.unavailable',
      `this machine was too busy to try a sandbox: ${capabilities.late}; ${LATE_REMEDY}`,
    );
  }
}

interface BubblewrapContext extends LocalHost {
  readonly capabilities: Capabilities;
  readonly bwrap: string;
  readonly system: readonly string[];
  readonly rlimits: Launch['rlimits'];
  /** It is undefined where sandboxes belong to the user that runs Muster. */
  readonly ownUser: OwnUser | undefined;
}

class OpenBubblewrap implements OpenRuntime {
  readonly #context: BubblewrapContext;
  readonly #clock: Clock;
  readonly #wardens: Wardens;

  constructor(context: BubblewrapContext, clock: Clock, log: (message: string) => void) {
    this.#context = context;
    this.#clock = clock;
    this.#wardens = new Wardens({ ...context, clock }, log);
  }

  makesCgroup(template: SandboxTemplate): boolean {
    return isForked(template, this.#context.capabilities);
  }

  countHostProcesses(template: SandboxTemplate): number {
    return template.limits.processes + (isForked(template, this.#context.capabilities) ? 0 : BUBBLEWRAP_PROCESSES);
  }

  async start(site: SandboxSite, template: SandboxTemplate, signal: AbortSignal): Promise<StartedProgram> {
    if (isForked(template, this.#context.capabilities)) return this.#wardens.fork(site, template, signal);
    await using namespace = await this.#context.ownUser?.openPlain();
    const launched = await launch(await this.#plan(site, template, namespace));
    const program = new LaunchedProgram('bubblewrap', launched, new BubblewrapProcesses(site.directory, this.#clock));
    await program.begin(site.cgroup !== undefined, signal);
    return { program };
  }

  async startPair({ environment, policy }: PairedSites, template: ApartTemplate, signal: AbortSignal): Promise<StartedPair> {
    if (isForked(template, this.#context.capabilities)) return this.#wardens.forkPair({ environment, policy }, template, signal);
    await using one = await this.#context.ownUser?.openPlain();
    await using other = await this.#context.ownUser?.openPlain();
    const policyTemplate = { ...template, command: template.policy.command };
    const launched = await launchJoined(await this.#plan(environment, template, one), await this.#plan(policy, policyTemplate, other));
    const toProgram = (process: LaunchedProcess, { directory }: SandboxSite): LaunchedProgram =>
      new LaunchedProgram('bubblewrap', process, new BubblewrapProcesses(directory, this.#clock));
    const programs = [toProgram(launched[0], environment), toProgram(launched[1], policy)] as const;
    const begun = await Promise.allSettled([
      programs[0].begin(environment.cgroup !== undefined, signal),
      programs[1].begin(policy.cgroup !== undefined, signal),
    ]);
    const failed = begun.find((end) => end.status === 'rejected');
    if (!failed) return { environment: { program: programs[0] }, policy: { program: programs[1] } };
    for (const each of programs) each.kill();
    await Promise.all(programs.map((each) => each.ended));
    throw failed.reason;
  }

  async share(
    template: SandboxTemplate,
    content: readonly SharedContent[],
    principal: string,
    signal: AbortSignal,
  ): Promise<Sharing | undefined> {
    return isForked(template, this.#context.capabilities) ? this.#wardens.share(template, content, principal, signal) : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#wardens[Symbol.asyncDispose]();
    await this.#context.ownUser?.[Symbol.asyncDispose]();
  }

  /** @param namespace the sandbox's user namespace, where bubblewrap does not make one itself. */
  async #plan({ inbox, cgroup }: SandboxSite, template: SandboxTemplate, namespace: FileHandle | undefined): Promise<Launch> {
    const { bwrap, etc, filter, covered, rlimits, ownUser } = this.#context;
    const root = template.workspace?.root;
    const system = root === undefined ? this.#context.system : buildSystemArguments(await readRootView(root));
    return {
      bubblewrap: [bwrap, ...buildBubblewrapArguments(template, { system, etc, inbox }, ownUser?.setpriv)],
      unlisted: buildEnvironmentArguments(template.environment),
      filter,
      userNamespace: namespace && getPath(namespace),
      program: template.workspace && ownUser ? [...template.command, '--user', `${INSIDE_UID}`] : template.command,
      isFirst: template.workspace !== undefined,
      limits: template.limits,
      covered,
      memberFiles: cgroup?.memberFiles ?? [],
      rlimits,
    };
  }
}

/** See `SandboxProvider.describe`. */
function describeIsolation(template: SandboxTemplate, capabilities: Capabilities): Isolation {
  requireSandboxes(capabilities);
  checkTemplate(template);
  requireForking(template, capabilities);
  requireDemands(template, capabilities.limits, capabilities.cgroups);
  const way = isForked(template, capabilities) ? 'bubblewrap, forked' : 'bubblewrap';
  return { mechanism: template.policy ? `${way}, policy apart` : way, limits: capabilities.limits };
}

/** Whether sandboxes of this template are forked from a zygote here. */
function isForked(template: SandboxTemplate, { forking }: Capabilities): template is ForkableTemplate {
  return template.zygote !== undefined && forking.state === 'available';
}

function requireSandboxes({ bubblewrap, namespaces }: Capabilities): void {
  for (const finding of [bubblewrap, namespaces]) {
    if (finding.state === 'available') continue;
    throw new InfrastructureError('sandbox.unavailable', `no local sandbox can be made: ${finding.detail}; ${finding.remedy}`);
  }
}

function requireForking({ name, zygote }: SandboxTemplate, { forking }: Capabilities): void {
  if (!zygote?.isRequired || forking.state === 'available') return;
  throw new InfrastructureError('sandbox.unavailable', `template "${name}" requires forking, but ${forking.detail}; ${forking.remedy}`);
}
