import { execFile } from 'node:child_process';
import { OUTSIDE_ENVIRONMENT } from './program/launcher.ts';

/** A sandbox of `true` takes half a second at most: what takes longer hangs, or waits for a processor of a machine that is busy. */
const TRIAL_TIMEOUT_MS = 20_000;

/** The remedy where a trial was late. */
export const LATE_REMEDY = 'try again when the machine has less to do';

export interface TrialEnd {
  /** -1 where there is none. */
  readonly code: number;
  /** The whole output of the command, or the reason why it could not be run. */
  readonly output: string;
  /** It was killed after the time limit: that says nothing of what the machine allows. */
  readonly isLate: boolean;
}

export function runTrial(file: string, argv: readonly string[], timeoutMs = TRIAL_TIMEOUT_MS): Promise<TrialEnd> {
  const { promise, resolve } = Promise.withResolvers<TrialEnd>();
  const options = { timeout: timeoutMs, killSignal: 'SIGKILL', env: OUTSIDE_ENVIRONMENT } as const;
  execFile(file, [...argv], options, (error, stdout, stderr) => {
    const code = error ? (typeof error.code === 'number' ? error.code : -1) : 0;
    const isLate = error?.killed === true;
    const late = `${file} had not ended after ${timeoutMs / 1000} s: it hangs, or the machine is busy with other work`;
    resolve({ code, output: isLate ? late : `${stdout}${stderr}` || (error?.message ?? ''), isLate });
  });
  return promise;
}
