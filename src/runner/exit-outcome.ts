import { constants } from 'node:os';
import type { Outcome } from '../kernel/outcome.ts';
import type { SandboxExit } from '../pool/sandbox.ts';

/**
 * What the end of a sandbox means for the episode that was being played. Undefined: nothing, it is simply not played.
 *
 * A kill from inside and one from outside look the same (128 + SIGKILL), so a killed program is taken for lost first and
 * played again elsewhere; only an episode whose program is killed every time is the cause of it (orchestrator/retry.ts).
 */
export function outcomeOfExit(exit: SandboxExit, stderrTail: string): Outcome | undefined {
  const said = stderrTail ? `; last words: ${stderrTail.trim()}` : '';
  switch (exit.kind) {
    case 'exited':
      if (wasKilled(exit)) return { kind: 'lost', detail: `${describeExit(exit)}${said}` };
      return { kind: 'failed', cause: 'environment-crash', detail: `${describeExit(exit)} while the episode was played${said}` };
    case 'out-of-memory':
      return { kind: 'failed', cause: 'out-of-memory', detail: "the sandbox's memory limit ended the runner" };
    case 'lifetime':
    case 'lost':
      return { kind: 'lost', detail: describeExit(exit) };
    case 'destroyed':
      return undefined;
  }
}

export function wasKilled(exit: SandboxExit): boolean {
  return exit.kind === 'exited' && (exit.code === 128 + constants.signals.SIGKILL || exit.code === 128 + constants.signals.SIGTERM);
}

export function describeExit(exit: SandboxExit): string {
  switch (exit.kind) {
    case 'exited':
      return exit.code > 128 ? `the runner was ended by ${signalName(exit.code - 128)}` : `the runner ended with code ${exit.code}`;
    case 'out-of-memory':
      return 'the runner exceeded the memory limit of its sandbox';
    case 'lifetime':
      return 'the sandbox reached the end of its lifetime';
    case 'destroyed':
      return 'the sandbox was destroyed';
    case 'lost':
      return `the sandbox was lost: ${exit.detail}`;
  }
}

function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}
