/** Valid names of templates, in the configuration and in suites. */
export const TEMPLATE_NAME = /^[a-z][a-z0-9-]{0,31}$/;
export const TEMPLATE_NAME_EXPECTED = 'expected a template name: 1 to 32 lower-case letters, digits and "-"';

/** What a sandbox is made of. Every provider accepts every template, and refuses with an `InputError` what it cannot provide. */
export interface SandboxTemplate {
  readonly name: string;
  /** The only program that the sandbox runs; the sandbox lives as long as it does. The first word is looked up in PATH. */
  readonly command: readonly string[];
  /** The program's whole environment, besides PATH, HOME and TMPDIR. It inherits nothing from Muster. */
  readonly environment: Readonly<Record<string, string>>;
  /** Host directories or files, visible read-only inside. */
  readonly mounts: readonly Mount[];
  readonly network: 'none' | 'host';
  readonly limits: SandboxLimits;
  /** Limits that must be enforced for the whole process tree; otherwise no sandbox is made. */
  readonly demands: readonly LimitName[];
  /** Present when sandboxes are forked, if the provider can, from a process that has imported what they need. */
  readonly zygote?: Zygote;
  /** Present when the policy is played apart from the environment, by a second program. */
  readonly policy?: PolicyProgram;
  /** Present when the command is the first process of a workspace, in which other programs are run. */
  readonly workspace?: WorkspaceFileSystem;
  /** Opaque to all but its provider: an instance of that provider's class. */
  readonly providerPart?: object;
}

/** A Python process that local sandboxes are forked from. They share the memory of what it has imported. */
export interface Zygote {
  /** The interpreter and the zygote's program, as paths inside. */
  readonly python: string;
  /** The command that starts the interpreter, with its flags, where its path alone is not enough. */
  readonly start?: readonly string[];
  readonly program: string;
  /** Modules to import before the first fork. */
  readonly imports: readonly string[];
  /** Whether a provider that cannot fork must refuse the template instead of starting each sandbox by itself. */
  readonly isRequired: boolean;
}

/**
 * A sandbox's second program. It has walls, limits, writable files and an inbox of its own. The two programs share only a socket pair, of
 * which each has one end as descriptor 3. They end together.
 */
export interface PolicyProgram {
  readonly command: readonly string[];
}

/**
 * A file system in which programs are run. The template's command is its first process: it reports its start by a line at descriptor 3 and
 * takes `--user`, `--address-space` and `--processes` as further arguments.
 */
export interface WorkspaceFileSystem {
  /** Host directory whose content the programs see as `/`, read-only. Undefined: the system directories of the host. */
  readonly root: string | undefined;
  /** Writable directories besides /tmp and /dev/shm; they are empty at first. */
  readonly writable: readonly string[];
}

export interface Mount {
  readonly source: string;
  readonly target: string;
}

/** Each limit applies to the whole process tree of one sandbox, as far as `Isolation` says. */
export interface SandboxLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Processors, in fractions: 0.5 is half of one. */
  readonly cpus: number;
  /** All that the sandbox can write to files, in /tmp and /dev/shm together. */
  readonly diskBytes: number;
  /** The time from the sandbox's creation to its destruction. */
  readonly lifetimeSeconds: number;
}

export const LIMIT_NAMES = ['memory', 'processes', 'cpu', 'disk', 'lifetime'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** The limits that are enforced, and by which mechanism. Every result states them. */
export interface Isolation {
  /** `bubblewrap`, `in-memory`, … */
  readonly mechanism: string;
  readonly limits: Readonly<Record<LimitName, LimitEnforcement>>;
  /** Limits that the template requires, and that the platform has to enforce without Muster verifying it: one sentence each, for people. */
  readonly unverified?: readonly string[];
}

export interface LimitEnforcement {
  /** `tree`: the sandbox as a whole. `process`: each process for itself. `none`: not enforced. */
  readonly scope: 'tree' | 'process' | 'none';
  /** `cgroup-v2`, `cgroup-v1`, `rlimit`, `tmpfs`, `timer`, `none` */
  readonly by: string;
}
