import { constants } from 'node:os';
import { InputError, type MusterError } from '../kernel/errors.ts';
import { LAST_WORDS, type Outcome } from '../kernel/outcome.ts';
import { EndedEarlyError } from '../pool/ports/ended-early-error.ts';
import type { SandboxExit } from '../pool/ports/sandbox.ts';
import type { Killed } from './played-episode.ts';
import { nameSignal } from '../kernel/text/signal-name.ts';

/**
 * Converts the end of a sandbox into the outcome of the episode that was being played. Returns undefined when it says nothing about the episode,
 * which then is unplayed.
 *
 * A kill from inside and one from outside look the same (128 + SIGKILL), so a killed program first counts as lost and its episode is played again
 * elsewhere; only an episode whose program is killed every time is the cause (orchestrator/arm/retry.ts).
 */
export function toExitOutcome(exit: SandboxExit, stderrTail: string): Outcome | undefined {
  const said = stderrTail ? `${LAST_WORDS}${stderrTail.trim()}` : '';
  switch (exit.kind) {
    case 'exited':
      if (findKilledProgram(exit)) return { kind: 'lost', detail: `${describeExit(exit)}${said}` };
      return { kind: 'failed', cause: getCause(exit), detail: `${describeExit(exit)} while the episode was played${said}` };
    case 'out-of-memory':
      return { kind: 'failed', cause: 'out-of-memory', detail: "the sandbox's memory limit ended the runner" };
    case 'lifetime':
    case 'lost':
      return { kind: 'lost', detail: describeExit(exit) };
    case 'destroyed':
      return undefined;
  }
}

export function findKilledProgram(exit: SandboxExit): Killed {
  const isKilled =
    exit.kind === 'exited' && (exit.code === 128 + constants.signals.SIGKILL || exit.code === 128 + constants.signals.SIGTERM);
  return isKilled && (exit.part ?? 'runner');
}

/** Whether a program that was not ready ended by itself, rather than through its provider or a kill from outside. */
function hasEndedByItself(exit: SandboxExit): boolean {
  return exit.kind === 'out-of-memory' || (exit.kind === 'exited' && !findKilledProgram(exit));
}

/**
 * Exit codes of a runner that was started wrongly or misses a module (runner/muster_runner/start.py), and of a shell that finds no program.
 */
const EXITS_FOR_GOOD: ReadonlySet<number> = new Set([64, 69, 126, 127]);

/** Whether a runner that ends this way before it is ready would end the same way in another sandbox. */
function isForGood(exit: SandboxExit): boolean {
  return exit.kind === 'exited' && EXITS_FOR_GOOD.has(exit.code);
}

export function describeExit(exit: SandboxExit): string {
  switch (exit.kind) {
    case 'exited':
      return exit.code > 128
        ? `${getProgram(exit)} was ended by ${nameSignal(exit.code - 128)}`
        : `${getProgram(exit)} ended with code ${exit.code}`;
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

/** Decides which program ended: the policy's, if it has its own. Otherwise this cannot be known, and counts as the environment's. */
function getCause({ part }: Exited): 'policy-crash' | 'environment-crash' {
  return part === 'policy' ? 'policy-crash' : 'environment-crash';
}

function getProgram({ part }: Exited): string {
  return part === 'policy' ? 'the policy’s program' : 'the runner';
}

type Exited = Extract<SandboxExit, { readonly kind: 'exited' }>;

/** Returns the error for a runner that was not ready yet. */
export function toStartError(exit: SandboxExit, reason: string): MusterError | undefined {
  if (isForGood(exit)) return createStartError(reason);
  return hasEndedByItself(exit) ? new EndedEarlyError('runner.gone', reason) : undefined;
}

export function createStartError(reason: string): InputError {
  const remedy = 'correct the template: its python, imports or command; "muster doctor" tries it';
  return new InputError('runner.cannot-start', `the template's program cannot start: ${reason}; ${remedy}`);
}
