import { errorReport, notice } from './error-report.ts';
import { EXIT_CODES, exitCodeOf } from './exit-code.ts';

/** How a command that could not give its answer ends. */
export interface FailedAttempt {
  readonly exitCode: number;
  /** For stderr. */
  readonly report: string;
}

/** @param before what had not come about yet, should the caller have interrupted it. */
export function toFailedAttempt(error: unknown, signal: AbortSignal, before: string): FailedAttempt {
  if (signal.aborted && error instanceof Error && error.name === 'AbortError')
    return { exitCode: EXIT_CODES.interrupted, report: notice(`interrupted before ${before}`) };
  return { exitCode: exitCodeOf(error), report: errorReport(error) };
}
