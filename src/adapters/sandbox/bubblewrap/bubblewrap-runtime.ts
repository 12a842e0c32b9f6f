import type { Clock } from '../../../kernel/clock.ts';
import type { SharedContent, Sharing } from '../../../pool/shared-content.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/template.ts';
import { kernelCgroupFiles } from '../local/cgroup-files.ts';
import type { CgroupLayout } from '../local/cgroup-layout.ts';
import { findProgram } from '../local/find-program.ts';
import { LaunchedProgram } from '../local/launched-program.ts';
import type { LocalGround, LocalRuntime, OpenRuntime, RuntimeOptions, SandboxSite, StartedProgram } from '../local/local-runtime.ts';
import { systemView } from '../local/system-view.ts';
import { Wardens } from '../zygote/wardens.ts';
import { BubblewrapProcesses } from './bubblewrap-processes.ts';
import { type Capabilities, probeCapabilities } from './capabilities.ts';
import { bubblewrapArguments, environmentArguments, systemArguments } from './command-line.ts';
import { isForked, isolationFor } from './isolation.ts';
import { type Launch, launch } from './launcher.ts';

export interface BubblewrapSettings extends RuntimeOptions {
  /** Looked up in PATH unless it is a path. */
  readonly bwrapPath?: string;
  /** Told what goes wrong without anything failing for it. */
  readonly log?: (message: string) => void;
}

/** Processes that are in a plain sandbox's control group beside the program and its descendants: bubblewrap's monitor and its reaper. */
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
    return isolationFor(template, await this.#probe());
  }

  async cgroupLayout(): Promise<CgroupLayout | undefined> {
    return (await this.#probe()).layout;
  }

  async open(ground: LocalGround): Promise<OpenRuntime> {
    const { bwrapPath = 'bwrap', clock, log = () => {} } = this.#settings;
    const [capabilities, bwrap = bwrapPath, view] = await Promise.all([this.#probe(), findProgram(bwrapPath), systemView()]);
    const { memory, processes } = capabilities.limits;
    const rlimits = { memory: memory.by === 'rlimit', processes: processes.by === 'rlimit' };
    return new OpenBubblewrap({ ...ground, capabilities, bwrap, system: systemArguments(view), rlimits }, clock, log);
  }

  #probe(): Promise<Capabilities> {
    const { bwrapPath = 'bwrap', cgroups = 'detect', cgroupFiles = kernelCgroupFiles } = this.#settings;
    this.#capabilities ??= probeCapabilities({ bwrapPath, cgroups, files: cgroupFiles });
    return this.#capabilities;
  }
}

interface BubblewrapGround extends LocalGround {
  readonly capabilities: Capabilities;
  readonly bwrap: string;
  readonly system: readonly string[];
  readonly rlimits: Launch['rlimits'];
}

class OpenBubblewrap implements OpenRuntime {
  readonly #ground: BubblewrapGround;
  readonly #clock: Clock;
  readonly #wardens: Wardens;

  constructor(ground: BubblewrapGround, clock: Clock, log: (message: string) => void) {
    this.#ground = ground;
    this.#clock = clock;
    this.#wardens = new Wardens({ ...ground, clock }, log);
  }

  makesCgroup(template: SandboxTemplate): boolean {
    return isForked(template, this.#ground.capabilities);
  }

  hostProcesses(template: SandboxTemplate): number {
    return template.limits.processes + (isForked(template, this.#ground.capabilities) ? 0 : BUBBLEWRAP_PROCESSES);
  }

  async start(site: SandboxSite, template: SandboxTemplate, signal: AbortSignal): Promise<StartedProgram> {
    if (isForked(template, this.#ground.capabilities)) return this.#wardens.fork(site.id, template, signal);
    const launched = await launch(this.#plan(site, template));
    const program = new LaunchedProgram('bubblewrap', launched, new BubblewrapProcesses(site.directory, this.#clock));
    await program.begin(site.cgroup !== undefined, signal);
    return { program };
  }

  async share(template: SandboxTemplate, content: readonly SharedContent[], signal: AbortSignal): Promise<Sharing | undefined> {
    return isForked(template, this.#ground.capabilities) ? this.#wardens.share(template, content, signal) : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#wardens[Symbol.asyncDispose]();
  }

  #plan({ inbox, cgroup }: SandboxSite, template: SandboxTemplate): Launch {
    const { bwrap, system, etc, filter, covered, rlimits } = this.#ground;
    return {
      bubblewrap: [bwrap, ...bubblewrapArguments(template, { system, etc, inbox })],
      unlisted: environmentArguments(template.environment),
      filter,
      program: template.command,
      limits: template.limits,
      covered,
      memberFiles: cgroup?.memberFiles ?? [],
      rlimits,
    };
  }
}
