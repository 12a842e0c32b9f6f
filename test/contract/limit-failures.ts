import type { ExpectedFailure, ExpectedFailures } from './expected-failure.ts';

export const USAGE = 'the usage of a sandbox is reported, while it runs and after its end';
export const FORK_BOMB = 'a fork bomb is bounded, and the host unaffected';
export const PROCESS_COUNT = 'the template’s number of processes is what the program gets';
export const MEMORY_BOMB = 'a memory bomb is ended as out of memory, and the host unaffected';
export const TREE_MEMORY = 'the memory of the whole tree counts';
export const DISK_BOMB = 'a disk bomb is bounded, and the host unaffected';
export const PROCESSOR_TIME = 'the processor time of the whole tree is limited';

/** What fails in a scenario of a limit where that limit does not hold. */
const ERRORS: Readonly<Record<string, RegExp>> = {
  [USAGE]: /to deeply equal \{ cpuSeconds: Any<Number>/,
  [FORK_BOMB]: /expected \d+ to be less than or equal to 15/,
  [PROCESS_COUNT]: /expected '\d+' to be '8'/,
  [MEMORY_BOMB]: /to deeply equal \{ kind: 'out-of-memory' \}/,
  [TREE_MEMORY]: /expected 'False' to be 'True'/,
};

/** For an adapter that cannot enforce what these scenarios are about. */
export function limitFailures(reason: string, ...titles: readonly string[]): ExpectedFailures {
  return Object.fromEntries(titles.map((title) => [title, failure(reason, title)]));
}

function failure(reason: string, title: string): ExpectedFailure {
  // What a program without a limit gets of a busy machine may be less than the limit.
  if (title === PROCESSOR_TIME) return { reason };
  const error = ERRORS[title];
  if (error === undefined) throw new Error(`no limit is the subject of: ${title}`);
  return { reason, error };
}
