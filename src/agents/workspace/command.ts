/** The first word of a command that selects the workspace's own interpreter, whatever its root file system. */
export const OWN_PYTHON = 'muster:python';

/** A command to be run in a workspace. Nothing of its process tree is left when it has ended. */
export interface Command {
  readonly argv: readonly string[];
  /** Absolute path inside the sandbox. */
  readonly directory: string;
  /** These variables override those that all commands of its session have. The command inherits none. */
  readonly environment: Readonly<Record<string, string>>;
  readonly seconds: number;
  readonly input?: Uint8Array;
  readonly output: OutputBounds;
  /** Whether the command gets a socket as descriptor 3, which no program can open by a path. */
  readonly reports?: boolean;
  /** Whether it may start neither processes nor threads. */
  readonly alone?: boolean;
  /** Whether the total memory of its processes is measured while it runs, for `peakBytes`; it is when left out. */
  readonly sampled?: boolean;
  /** Numbers of system calls that the kernel refuses to it and to everything that it starts. */
  readonly watched?: readonly number[];
  /**
   * Present when a Python program may be forked from a started interpreter of the root file system that has imported these modules, as far as they
   * are the interpreter's own. There is a process for each run all the same. A command for which that is impossible is started by itself.
   */
  readonly forkedWith?: readonly string[] | undefined;
}

/** Returns the part of a frame that requests it, without its input. @param base variables below those of the command. */
export function toCommandFields(command: Command, base: Command['environment']): object {
  const {
    argv,
    directory,
    environment,
    seconds,
    output,
    reports = false,
    alone = false,
    sampled = true,
    watched = [],
    forkedWith,
  } = command;
  const forking = { forks: forkedWith !== undefined, modules: forkedWith ?? [] };
  return {
    argv,
    directory,
    environment: { ...base, ...environment },
    seconds,
    ...output,
    reports,
    line: false,
    alone,
    sampled,
    watched,
    ...forking,
  };
}

/** Bounds in bytes. What a command prints between its beginning and its end is left out. */
export interface OutputBounds {
  readonly head: number;
  readonly tail: number;
  /** The limit of both streams together: a command that prints more is ended. */
  readonly most: number;
}

/** How a command ended. When the machine fails, an error is thrown instead. */
export type CommandEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: number }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'output-limit' }
  /** There is no such program, or it may not be run. */
  | { readonly kind: 'unstartable'; readonly detail: string }
  /** The memory limit of its sandbox ended everything in it. */
  | { readonly kind: 'out-of-memory' };

export interface PrintedOutput {
  readonly head: Buffer;
  readonly tail: Buffer;
  /** Bytes of output, including omitted ones. */
  readonly total: number;
}

export interface CommandResult {
  readonly end: CommandEnd;
  readonly stdout: PrintedOutput;
  readonly stderr: PrintedOutput;
  /** Output on descriptor 3, where it has one. */
  readonly report: PrintedOutput;
  /** Wall-clock time. */
  readonly seconds: number;
  /** Processor time of its whole tree. */
  readonly cpuSeconds: number;
  /** The watched system calls that were attempted. */
  readonly called: readonly number[];
  /** Memory of its whole tree, sampled every 10 ms, of a forked program more rarely the longer it runs; at least that of its largest process. */
  readonly peakBytes: number;
}

/** Time of a request beyond that of its command: for writing files and ending processes. */
export const GRACE_MS = 60_000;
/** Additional time of a command on a busy machine, as time_limit.py counts it. */
export const MOST_WAITING_MS = 300_000;

/** Computes the time after which a workspace that has not answered a command counts as lost. */
export function computeLongestMilliseconds({ seconds }: Pick<Command, 'seconds'>): number {
  return seconds * 1000 + MOST_WAITING_MS + GRACE_MS;
}

/** A file, with its path inside the sandbox. */
export interface WorkspaceFile {
  readonly path: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

/** Why files could not be taken in or given out as they are. */
export interface FileRefusal {
  readonly kind: string;
  readonly path: string;
  readonly detail: string;
}

export type Collected =
  | { readonly kind: 'collected'; readonly files: readonly WorkspaceFile[]; readonly directories: readonly string[] }
  | { readonly kind: 'refused'; readonly refusal: FileRefusal };

export interface CollectionBounds {
  /** Files and directories. */
  readonly files: number;
  readonly bytes: number;
}
