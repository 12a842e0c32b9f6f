import type { SandboxUsage } from '../../../../kernel/sandbox-usage.ts';
import type { ProgramInput } from './program-input.ts';
import type { ProgramOutput } from './program-output.ts';

/** A sandbox's program and all that it has started, as one thing, by whatever it is held. */
export interface SandboxedProgram {
  readonly stdin: ProgramInput;
  readonly stdout: ProgramOutput;
  readonly stderr: ProgramOutput;
  /** How it ended; never rejects. */
  readonly ended: Promise<ProgramEnd>;
  /** Kills it with all that it has started, at once. Nothing happens when it has ended. */
  kill(): void;
  /** Resolves when nothing of it is in the process table, which may be later than `ended`. @throws InfrastructureError when that takes too long. */
  waitUntilGone(): Promise<void>;
}

/** `usage` is of the program and those of its descendants that it has buried, and of the largest process: for want of a control group. */
export type ProgramEnd =
  /** By signal n the code is 128 + n, as shells have it. */
  | { readonly kind: 'exited'; readonly code: number; readonly usage?: SandboxUsage }
  /** What held it ended first. `wasKilled`: by SIGKILL, which may be the memory limit's doing. */
  | { readonly kind: 'lost'; readonly detail: string; readonly wasKilled: boolean; readonly usage?: SandboxUsage };

/** The code of a program that SIGKILL ended, which is how the kernel enforces a memory limit. */
export const EXIT_KILLED = 128 + 9;
