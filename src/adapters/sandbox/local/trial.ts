import { execFile } from 'node:child_process';
import { OUTSIDE_ENVIRONMENT } from './program/launcher.ts';

/** A sandbox of `true` takes half a second at most; a machine that needs longer is not working, or hangs. */
const TRIAL_TIMEOUT_MS = 20_000;

/** Runs a command to its end. @returns its exit code, -1 where it has none, and all that it said, or why it could not be run. */
export function runTrial(file: string, argv: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; output: string }>();
  const options = { timeout: TRIAL_TIMEOUT_MS, killSignal: 'SIGKILL', env: OUTSIDE_ENVIRONMENT } as const;
  execFile(file, [...argv], options, (error, stdout, stderr) => {
    const code = error ? (typeof error.code === 'number' ? error.code : -1) : 0;
    resolve({ code, output: `${stdout}${stderr}` || (error?.message ?? '') });
  });
  return promise;
}
