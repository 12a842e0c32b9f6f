import type { CommandLine } from '../../workspace/command-line.ts';

/** Of one message, with its length; the two sides speak in turns. */
const TURN_BYTES = 16 * 2 ** 20 + 4;
/** For the candidate to end by itself, so that what it printed is not cut off. */
const LAST_SECONDS = 1;

/** Carries what tests and candidate say to each other. The candidate may say one message before the tests speak again, and is cut off beyond that. */
export function relay(tests: CommandLine, candidate: CommandLine): void {
  let said = 0;
  tests.onData((data) => {
    said = 0;
    candidate.write(data);
  });
  candidate.onData((data) => {
    said += data.length;
    if (said <= TURN_BYTES) tests.write(data);
    else endCandidate(candidate);
  });
}

export function endCandidate(candidate: CommandLine): void {
  candidate.hangUp(LAST_SECONDS);
}
