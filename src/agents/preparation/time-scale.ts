/** The factor of a limit over the measured time: graders and agents may have slower machines, and the machine may be busy. */
const ROOM = 20;
const SCALE = [60, 300, 1200, 3600] as const;

/**
 * Chooses the time limit of a run of tests, in seconds. It is one of few values, so that slightly different measurements give the same task in every
 * preparation.
 *
 * @param measured seconds.
 */
export function limitSuite(measured: number): number {
  return SCALE.find((limit) => measured * ROOM <= limit) ?? 7200;
}

/**
 * Computes how long a run of tests took, in seconds, without the time in which a busy machine kept it from running: other work of the machine changes
 * neither the limits of a task nor how often tests are repeated. Processes that wait in parallel wait longer in total than they delay the run.
 */
export function leaveOutWaiting(
  { seconds, cpuSeconds }: { readonly seconds: number; readonly cpuSeconds: number },
  waitedSeconds: number,
): number {
  return Math.min(seconds, Math.max(seconds - waitedSeconds, cpuSeconds));
}
