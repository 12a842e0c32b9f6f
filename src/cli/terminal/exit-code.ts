import type { Verdict } from '../../aggregation/comparison/comparison-statistics.ts';
import { RefusedError } from '../../faces/client/client-errors.ts';
import { MusterError } from '../../kernel/errors.ts';

/** What a command's exit code tells a shell or a pipeline. */
export const EXIT_CODES = {
  done: 0,
  /** A defect of Muster itself. */
  defect: 1,
  /** A suite, checkpoint, configuration or flag is wrong; the message says which and how to correct it. */
  badInput: 2,
  /** The machine or a provider failed, or a quota is used up for now; the same command may succeed later. */
  infrastructure: 3,
  /** A comparison found every candidate worse than the baseline. */
  regress: 4,
  /** A comparison reached no verdict within its budget. */
  inconclusive: 5,
  /** Some evaluations of a batch were refused, failed or were cancelled. */
  incomplete: 6,
  /** An episode had another outcome when it was played again. */
  differs: 7,
  /** Ctrl-C, as in shells: 128 + SIGINT. */
  interrupted: 130,
} as const;

export function getExitCode(error: unknown): number {
  if (!(error instanceof MusterError)) return EXIT_CODES.defect;
  switch (error.kind) {
    case 'input':
      return isPassing(error) ? EXIT_CODES.infrastructure : EXIT_CODES.badInput;
    case 'infrastructure':
      return EXIT_CODES.infrastructure;
  }
}

/** Returns the exit code of a comparison that has finished. */
export function getVerdictCode({ verdict }: { readonly verdict: Verdict }): number {
  switch (verdict) {
    case 'promote':
    case 'equivalent':
      return EXIT_CODES.done;
    case 'regress':
      return EXIT_CODES.regress;
    case 'inconclusive':
      return EXIT_CODES.inconclusive;
  }
}

/** Whether waiting is enough: a quota for a day, or for waiting evaluations. */
function isPassing(error: MusterError): boolean {
  return error instanceof RefusedError && error.retryAfterSeconds !== undefined;
}
