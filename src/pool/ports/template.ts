/** How templates may be called, in the configuration and where suites name theirs. */
export const TEMPLATE_NAME = /^[a-z][a-z0-9-]{0,31}$/;
export const TEMPLATE_NAME_EXPECTED = 'expected a template name: 1 to 32 lower-case letters, digits and "-"';

/** What a sandbox is made of. Any provider can be handed any template; what it cannot honour it refuses with an `InputError`. */
export interface SandboxTemplate {
  readonly name: string;
  /** The one program that the sandbox runs; the sandbox lives as long as it does. The first word is looked up in PATH. */
  readonly command: readonly string[];
  /** The program's whole environment, besides PATH, HOME and TMPDIR. Nothing is inherited from Muster. */
  readonly environment: Readonly<Record<string, string>>;
  /** Host directories or files, visible read-only inside. */
  readonly mounts: readonly Mount[];
  readonly network: 'none' | 'host';
  readonly limits: SandboxLimits;
  /** Limits that must be enforced for the whole process tree, or no sandbox is made. */
  readonly demands: readonly LimitName[];
  /** Present when sandboxes are forked, where the provider can, from a process that has imported what they need. */
  readonly zygote?: Zygote;
  /** Present when the policy is played apart from the environment, by a second program. */
  readonly policy?: PolicyProgram;
  /** Present when the command is the first process of a place in which other programs are run. */
  readonly workspace?: WorkspaceFileSystem;
  /** What only its provider understands; a class of that provider's. */
  readonly providerPart?: object;
}

/** A Python process that local sandboxes are forked from. What it imports is in the memory of all of them. */
export interface Zygote {
  /** The interpreter and the zygote's program, as paths inside. */
  readonly python: string;
  /** What starts the interpreter, with its flags, where its path alone does not. */
  readonly start?: readonly string[];
  readonly program: string;
  /** Modules to import before the first fork. */
  readonly imports: readonly string[];
  /** Whether a provider that cannot fork must refuse the template, rather than start each sandbox by itself. */
  readonly isRequired: boolean;
}

/**
 * A sandbox's second program. It has walls, limits, files to write and an inbox of its own; what it shares with the first is a socket pair,
 * of which each has one end as descriptor 3. They end together.
 */
export interface PolicyProgram {
  readonly command: readonly string[];
}

/**
 * A file system that programs are run in. The template's command is its first process: it reports its start by a line at descriptor 3 and takes
 * `--user`, `--address-space` and `--processes` as further arguments.
 */
export interface WorkspaceFileSystem {
  /** Host directory whose content the programs see as `/`, read-only. Undefined: the system directories of the host. */
  readonly root: string | undefined;
  /** Directories that can be written to besides /tmp and /dev/shm, empty at the beginning. */
  readonly writable: readonly string[];
}

export interface Mount {
  readonly source: string;
  readonly target: string;
}

/** Each holds for the whole process tree of one sandbox, as far as `Isolation` says. */
export interface SandboxLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Processors, in fractions: 0.5 is half of one. */
  readonly cpus: number;
  /** All that the sandbox can write to files, in /tmp and /dev/shm together. */
  readonly diskBytes: number;
  /** From creation to the sandbox being destroyed. */
  readonly lifetimeSeconds: number;
}

export const LIMIT_NAMES = ['memory', 'processes', 'cpu', 'disk', 'lifetime'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** The limits that are enforced, and by which mechanism. Every result states them. */
export interface Isolation {
  /** `bubblewrap`, `in-memory`, … */
  readonly mechanism: string;
  readonly limits: Readonly<Record<LimitName, LimitEnforcement>>;
  /** Limits that the template asks for and that the platform has to enforce, unverified by Muster: one sentence each, for people. */
  readonly unverified?: readonly string[];
}

export interface LimitEnforcement {
  /** `tree`: the sandbox as a whole. `process`: each process for itself. `none`: not enforced. */
  readonly scope: 'tree' | 'process' | 'none';
  /** `cgroup-v2`, `cgroup-v1`, `rlimit`, `tmpfs`, `timer`, `none` */
  readonly by: string;
}
