import type { Clock } from '../../../kernel/clock.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { PastExposure } from '../../../pool/ports/exposure.ts';
import type { SharedContent, Sharing } from '../../../pool/ports/shared-content.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import type { CgroupFiles } from './cgroups/cgroup-files.ts';
import type { CgroupLayout } from './cgroups/cgroup-layout.ts';
import type { DescriptorCover } from './host/inherited-descriptors.ts';
import type { OwnerCgroups } from './cgroups/owner-cgroups.ts';
import type { SandboxCgroup } from './cgroups/sandbox-cgroup.ts';
import type { SandboxedProgram } from './program/sandboxed-program.ts';

export interface RuntimeOptions {
  readonly clock: Clock;
  /** `none` does without control groups where there are some. */
  readonly cgroups?: 'detect' | 'none';
  /** The control-group file system. */
  readonly cgroupFiles?: CgroupFiles;
}

/** One way to put walls around programs on this machine. `LocalProvider` does everything else about local sandboxes. */
export interface LocalRuntime {
  readonly name: string;
  /** See `SandboxProvider.describe`. */
  describe(template: SandboxTemplate): Promise<Isolation>;
  /** Finds where control groups can be made. Returns undefined where sandboxes have none. */
  findCgroupLayout(): Promise<CgroupLayout | undefined>;
  /** Called before the first sandbox is made, and again by the next one after a failure. A failure leaves nothing open. */
  open(host: LocalHost): Promise<OpenRuntime>;
}

/** What all sandboxes of one provider share. */
export interface LocalHost {
  /** The owner's directory, with one for each sandbox. */
  readonly directory: string;
  /** Holds the synthesised files. */
  readonly etc: string;
  /** The file with the system-call filter. */
  readonly filter: string;
  /** The owner's groups, with one for each sandbox. It is undefined where there are none. */
  readonly cgroups: Pick<OwnerCgroups, 'listLimitFiles'> | undefined;
  /** Makes up for descriptors of Muster's that a child would inherit. */
  readonly covered: DescriptorCover;
}

/** The directories of a sandbox that is being made. */
export interface SandboxSite {
  readonly id: SandboxId;
  /** See `SandboxSpec.audience`. */
  readonly audience?: string | undefined;
  /** Its own, in the owner's. What is in it is removed with it. */
  readonly directory: string;
  /** Host directory that is its inbox. */
  readonly inbox: string;
  /** Has its limits, unless the runtime makes it; its processes are killed when the sandbox ends. */
  readonly cgroup: SandboxCgroup | undefined;
}

export interface StartedProgram {
  readonly program: SandboxedProgram;
  /** See `Sandbox.shares`. */
  readonly shares?: ReadonlySet<string>;
  /** See `Sandbox.past`. */
  readonly past?: PastExposure;
}

/** A template whose sandboxes have two programs. */
export type ApartTemplate = SandboxTemplate & { readonly policy: NonNullable<SandboxTemplate['policy']> };

/** The two sites of a sandbox with two programs. */
export interface PairedSites {
  readonly environment: SandboxSite;
  readonly policy: SandboxSite;
}

export interface StartedPair {
  readonly environment: StartedProgram;
  readonly policy: StartedProgram;
}

export interface OpenRuntime extends AsyncDisposable {
  /** Whether `start` makes the sandbox's control group, too. */
  makesCgroup?(template: SandboxTemplate): boolean;
  /** Counts how many processes of the host a control group must allow for the template's program to get its number. */
  countHostProcesses(template: SandboxTemplate): number;
  /**
   * Resolves when the program is about to begin. One that has not begun leaves nothing behind but, perhaps, processes in its control group and files
   * in its directory.
   *
   * @throws InfrastructureError `sandbox.start` with the reported reason.
   */
  start(site: SandboxSite, template: SandboxTemplate, signal: AbortSignal): Promise<StartedProgram>;
  /**
   * Starts the two programs of one sandbox, joined by a socket pair. Left out where `describe` refuses such templates.
   *
   * @throws InfrastructureError as `start` does; then neither has begun, or both are killed.
   */
  startPair?(sites: PairedSites, template: ApartTemplate, signal: AbortSignal): Promise<StartedPair>;
  /** See `SandboxProvider.share`. @returns undefined where sandboxes of this template load everything by themselves; left out where all do. */
  share?(
    template: SandboxTemplate,
    content: readonly SharedContent[],
    principal: string,
    signal: AbortSignal,
  ): Promise<Sharing | undefined>;
}
