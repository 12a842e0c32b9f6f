/** Short, so that a passing fault costs little time. */
const FIRST_MS = 250;
/** Long enough to spare a provider that is down, short enough to notice its return soon. */
const LONGEST_MS = 30_000;

/** Returns the milliseconds to pause after `failures` failures in a row: doubles from 250 ms up to 30 s. */
export function computeBackoffMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
}
