import { formatErrorReport, formatNotice } from './error-report.ts';
import { EXIT_CODES, getExitCode } from './exit-code.ts';

/** The end of a command that could not give its answer. */
export interface FailedAttempt {
  readonly exitCode: number;
  /** Written to stderr. */
  readonly report: string;
}

/** @param before what the interruption prevented, for the message. */
export function toFailedAttempt(error: unknown, signal: AbortSignal, before: string): FailedAttempt {
  if (signal.aborted && error instanceof Error && error.name === 'AbortError')
    return { exitCode: EXIT_CODES.interrupted, report: formatNotice(`interrupted before ${before}`) };
  return { exitCode: getExitCode(error), report: formatErrorReport(error) };
}
