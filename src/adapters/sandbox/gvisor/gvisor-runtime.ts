import { InfrastructureError, InputError } from '../../../kernel/errors.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import { kernelCgroupFiles } from '../local/cgroups/cgroup-files.ts';
import type { CgroupLayout } from '../local/cgroups/cgroup-layout.ts';
import { LaunchedProgram, type FurtherProcesses } from '../local/program/launched-program.ts';
import type { LocalHost, LocalRuntime, OpenRuntime, RuntimeOptions, SandboxSite, StartedProgram } from '../local/local-runtime.ts';
import { readRootView, readSystemView } from '../local/template/system-view.ts';
import { writeBundle } from './bundle.ts';
import { type GvisorCapabilities, probeGvisor } from './capabilities.ts';
import { checkSocketPath, buildRunscCommand } from './command-line.ts';
import { launch } from './launcher.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { killSandboxProcesses } from '../local/sweep.ts';
import { createCannotPlayApartError } from '../../../pool/ports/policy-apart.ts';
import { requireDemands } from '../local/cgroups/enforced-limits.ts';
import { checkTemplate } from '../local/template/template-check.ts';

export interface GvisorSettings extends RuntimeOptions {
  /** Looked up in PATH unless it is a path. */
  readonly runscPath?: string;
}

/** A kernel of its own for each sandbox. */
export class GvisorRuntime implements LocalRuntime {
  readonly name = 'gvisor';
  readonly #settings: GvisorSettings;
  #capabilities: Promise<GvisorCapabilities> | undefined;

  constructor(settings: GvisorSettings) {
    this.#settings = settings;
  }

  async describe(template: SandboxTemplate): Promise<Isolation> {
    return describeIsolation(template, await this.#probe());
  }

  async findCgroupLayout(): Promise<CgroupLayout | undefined> {
    return (await this.#probe()).layout;
  }

  async open({ covered }: LocalHost): Promise<OpenRuntime> {
    const { clock } = this.#settings;
    const [{ runsc, limits }, system] = await Promise.all([this.#probe(), readSystemView()]);
    if (!runsc) throw new InfrastructureError('sandbox.unavailable', 'runsc makes no sandboxes on this machine; see muster doctor');
    return {
      countHostProcesses: countHostProcesses,
      async start({ directory, inbox, cgroup }: SandboxSite, template: SandboxTemplate, signal: AbortSignal): Promise<StartedProgram> {
        checkSocketPath(directory);
        const { root } = template.workspace ?? {};
        const seen = root === undefined ? system : await readRootView(root);
        await writeBundle(directory, { template, system: seen, inbox, memoryByProcess: limits.memory.by === 'rlimit' });
        const command = buildRunscCommand(runsc, template.network, directory);
        const startsByItself = template.workspace !== undefined;
        const launched = await launch({ command, covered, memberFiles: cgroup?.memberFiles ?? [], startsByItself });
        const program = new LaunchedProgram('runsc', launched, new RunscProcesses(directory, clock));
        await program.begin(cgroup !== undefined, signal);
        return { program };
      },
      // Nothing outlives the sandbox that it was started for.
      [Symbol.asyncDispose]: async () => {},
    };
  }

  #probe(): Promise<GvisorCapabilities> {
    const { runscPath = 'runsc', cgroups = 'detect', cgroupFiles = kernelCgroupFiles } = this.#settings;
    this.#capabilities ??= probeGvisor({ runscPath, cgroups, files: cgroupFiles });
    return this.#capabilities;
  }
}

/**
 * The control group's limit only backs up gVisor's own, which enforces the template's number: gVisor needs up to 24 host threads for a process inside
 * when all of them fork (on ptrace, with 128 of them), some more for itself, and does not survive being refused one.
 */
function countHostProcesses({ limits }: SandboxTemplate): number {
  return 32 * limits.processes + 256;
}

/**
 * The processes after `runsc run`: the sentry, which is the kernel inside, and the gofer, which serves its files. The kernel kills them with it; one
 * that it had only just forked is found by its command line, as are those that have not ended yet.
 */
class RunscProcesses implements FurtherProcesses {
  readonly #directory: string;
  readonly #clock: Clock;

  /** @param directory the sandbox's own, in which runsc has its state. */
  constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  async find(): Promise<void> {}

  kill(): void {}

  async waitUntilGone(): Promise<void> {
    await killSandboxProcesses(this.#directory, this.#clock);
  }
}

/** gVisor itself takes some 20 MiB of a sandbox's memory; with less than this no program starts. */
const MEMORY_MIN_BYTES = 32 * 2 ** 20;

/** See `SandboxProvider.describe`. */
function describeIsolation(template: SandboxTemplate, { gvisor, limits, cgroups }: GvisorCapabilities): Isolation {
  checkTemplate(template);
  if (template.policy) throw createCannotPlayApartError(template.name, 'gVisor runs one program in a sandbox');
  if (template.limits.memoryBytes < MEMORY_MIN_BYTES) {
    const problem = `limits.memoryBytes is ${template.limits.memoryBytes}; expected at least ${MEMORY_MIN_BYTES} for gVisor and a program`;
    throw new InputError('template.invalid', `template "${template.name}": ${problem}`);
  }
  if (template.zygote?.isRequired === true) {
    const problem = 'requires forking, which gVisor cannot do; set its start to auto or plain, or its provider to bubblewrap';
    throw new InputError('template.invalid', `template "${template.name}" ${problem}`);
  }
  if (gvisor.state === 'missing') {
    const wanted = `template "${template.name}" wants gVisor, and no sandbox can be made with it: ${gvisor.detail}`;
    throw new InfrastructureError('sandbox.unavailable', `${wanted}; ${gvisor.remedy}`);
  }
  requireDemands(template, limits, cgroups);
  return { mechanism: 'gvisor', limits };
}
