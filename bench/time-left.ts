/** How long a run still takes, as far as it can be known. */

export interface Course {
  /** Seconds of the measurements that this run has made. */
  readonly made: readonly number[];
  /** What is still to be made: how many seconds the last run took for it, where there was one. */
  readonly left: readonly (number | undefined)[];
}

/** What no run has measured yet counts as the mean of what this one has. Undefined when nothing is known of some of it. */
export function secondsLeft({ made, left }: Course): number | undefined {
  const mean = made.length === 0 ? undefined : made.reduce((sum, each) => sum + each, 0) / made.length;
  let sum = 0;
  for (const known of left) {
    const seconds = known ?? mean;
    if (seconds === undefined) return undefined;
    sum += seconds;
  }
  return sum;
}

/** "about 4 min left" */
export function showTimeLeft(course: Course): string {
  const seconds = secondsLeft(course);
  if (seconds === undefined) return 'time left unknown: nothing of it was measured before';
  return `about ${showSeconds(seconds)} left`;
}

export function showSeconds(seconds: number): string {
  return seconds < 100 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
