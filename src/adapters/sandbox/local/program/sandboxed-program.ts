import type { SandboxUsage } from '../../../../kernel/sandbox-usage.ts';
import type { ProgramInput } from './program-input.ts';
import type { ProgramOutput } from './program-output.ts';

/** A sandbox's program and everything that it has started, as one thing, whatever holds it. */
export interface SandboxedProgram {
  readonly stdin: ProgramInput;
  readonly stdout: ProgramOutput;
  readonly stderr: ProgramOutput;
  /** Resolves with how it ended; never rejects. */
  readonly ended: Promise<ProgramEnd>;
  /** Kills it with all that it has started, at once. Nothing happens when it has ended. */
  kill(): void;
  /** Resolves when nothing of it is in the process table, which may be later than `ended`. @throws InfrastructureError when that takes too long. */
  waitUntilGone(): Promise<void>;
}

/** `usage` is of the program and its reaped descendants, and of the largest process; used where there is no control group. */
export type ProgramEnd =
  /** After signal n the code is 128 + n, as in shells. `areGroupsRemoved`: its holder has removed its control groups. */
  | { readonly kind: 'exited'; readonly code: number; readonly areGroupsRemoved?: boolean; readonly usage?: SandboxUsage }
  /** Its holder ended first. `wasKilled`: by SIGKILL, which the memory limit may have sent. */
  | { readonly kind: 'lost'; readonly detail: string; readonly wasKilled: boolean; readonly usage?: SandboxUsage };

/** The code of a program that SIGKILL ended, which is how the kernel enforces a memory limit. */
export const EXIT_KILLED = 128 + 9;
