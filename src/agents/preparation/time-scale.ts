/** What a limit is a multiple of the measured time of: graders and agents have slower machines, and the machine may be busy. */
const ROOM = 20;
const SCALE = [60, 300, 1200, 3600] as const;

/**
 * The time limit of a run of tests, in seconds. It is one of few: a measurement that is a little longer or shorter gives the same, so that a task
 * does not differ from one preparation to the next.
 *
 * @param measured seconds.
 */
export function limitSuite(measured: number): number {
  return SCALE.find((limit) => measured * ROOM <= limit) ?? 7200;
}

/**
 * How long a run of tests took, in seconds, without what a busy machine kept it from running: neither the limits of a task nor how often tests are
 * repeated follow from other work of the machine. Processes that wait beside one another wait longer together than they delay the run.
 */
export function leaveOutWaiting(
  { seconds, cpuSeconds }: { readonly seconds: number; readonly cpuSeconds: number },
  waitedSeconds: number,
): number {
  return Math.min(seconds, Math.max(seconds - waitedSeconds, cpuSeconds));
}
