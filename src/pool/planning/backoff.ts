/** Short enough that a passing fault costs no one's patience. */
const FIRST_MS = 250;
/** Long enough that a provider which is down is left alone, short enough that its return is soon noticed. */
const LONGEST_MS = 30_000;

/** Milliseconds to leave a provider alone after `failures` failures in a row: doubling from 250 ms up to 30 s. */
export function computeBackoffMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
}
