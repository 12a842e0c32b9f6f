import type { TestResult } from '../verification/evidence.ts';
import { Refused } from './source/steps.ts';

/** The result of each test in one run. A test that was reported twice is `doubled`. */
export type Outcomes = ReadonlyMap<string, TestResult['status'] | 'doubled'>;

export interface PinnedTests {
  /** Fail, or do not exist, without the fix, and pass with it. */
  readonly failToPass: readonly string[];
  /** Pass with and without it. */
  readonly passToPass: readonly string[];
}

/** Ids that can be pinned: one that does not fit on a line of a file cannot be selected. */
const PLAIN_ID = /^[\x20-\x7e]{1,1000}$/;

export function gatherOutcomes(results: readonly TestResult[]): Outcomes {
  const outcomes = new Map<string, TestResult['status'] | 'doubled'>();
  for (const { id, status } of results) outcomes.set(id, outcomes.has(id) ? 'doubled' : status);
  return outcomes;
}

/**
 * @param isMutation whether a test has to run and fail without the fix: a mutation that cannot be built would only ask for code that can. @throws
 * Refused (`derive`) when no test fails without the fix and passes with it.
 */
export function derivePinned(without: Outcomes, withFix: Outcomes, isMutation = false): PinnedTests {
  const passed = [...withFix].flatMap(([id, status]) => (status === 'passed' && PLAIN_ID.test(id) ? [id] : [])).sort();
  const failToPass = passed.filter((id) => ['failed', 'error', undefined].includes(without.get(id)));
  const passToPass = passed.filter((id) => without.get(id) === 'passed');
  if (isMutation && failToPass.length > 0 && !failToPass.some((id) => without.has(id)))
    throw new Refused(
      'derive',
      'with the mistake no test fails: those that are missing cannot be built or begun, or have another name in each run',
    );
  if (failToPass.length > 0) return { failToPass, passToPass };
  const why = passed.length === 0 ? 'no test passes with the fix' : 'every test that passes with the fix passes without it';
  throw new Refused('derive', `there is no test that fails without the fix and passes with it: ${why}`);
}

/**
 * Leaves out the parts with a test that is not pinned: a verdict requires exactly the pinned tests to run, and a part runs as a whole.
 *
 * @param seen every test that ran with the fix. @throws Refused (`derive`) when no test that has to begin to pass is left.
 */
export function keepWholeParts(pinned: PinnedTests, seen: Iterable<string>, getPart: (id: string) => string): PinnedTests {
  const all = new Set([...pinned.failToPass, ...pinned.passToPass]);
  const broken = new Set([...seen].filter((id) => !all.has(id)).map(getPart));
  const isWhole = (id: string): boolean => !broken.has(getPart(id));
  const [failToPass, passToPass] = [pinned.failToPass.filter(isWhole), pinned.passToPass.filter(isWhole)];
  if (failToPass.length > 0) return { failToPass, passToPass };
  const [first = ''] = pinned.failToPass;
  throw new Refused('derive', `${getPart(first)} is run as a whole, and some of its tests are skipped, fail, waver, or have one name`);
}
