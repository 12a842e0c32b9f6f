import { formatErrorReport, formatNotice } from './error-report.ts';
import { EXIT_CODES, getExitCode } from './exit-code.ts';

/** How a command that could not give its answer ends. */
export interface FailedAttempt {
  readonly exitCode: number;
  /** For stderr. */
  readonly report: string;
}

/** @param before what an interruption came before, for the message. */
export function toFailedAttempt(error: unknown, signal: AbortSignal, before: string): FailedAttempt {
  if (signal.aborted && error instanceof Error && error.name === 'AbortError')
    return { exitCode: EXIT_CODES.interrupted, report: formatNotice(`interrupted before ${before}`) };
  return { exitCode: getExitCode(error), report: formatErrorReport(error) };
}
