import type { Outcomes, PinnedTests } from './derivation.ts';
import { Refused } from './source/steps.ts';

/** The difference from the first run: chance only, the order, or the time as well. */
export type RunTwist = 'none' | 'order' | 'clock';

export interface RepeatedRun {
  readonly twist: RunTwist;
  /** The outcomes without the fix. */
  readonly without: Outcomes;
  readonly withFix: Outcomes;
}

/** The number of times that a test was run again with the fix, in the same order at the same time, and how often it failed. */
export interface Repeats {
  readonly runs: number;
  readonly failures: number;
}

/** name: it has another name in each run, for example with a time in it. */
export const WAVERING_CAUSES = ['chance', 'order', 'clock', 'name'] as const;
type WaveringCause = (typeof WAVERING_CAUSES)[number];

export interface Wavering {
  readonly id: string;
  readonly cause: WaveringCause;
  /** Says to people in how many of the runs it failed or differed, or that its name changes. */
  readonly figure: string;
  readonly failures: number;
  readonly runs: number;
}

export interface Steadiness {
  readonly pinned: PinnedTests;
  readonly dropped: readonly Wavering[];
  readonly refusal: string | null;
}

/**
 * Decides which tests can be pinned: those with the same result in every run. A wavering test that has to begin to pass refuses the task; one that
 * only has to keep passing is dropped, and so is one whose name no other run has. A test that did not run because another one ended the process says
 * nothing: where it ran without the fix it passed, so it has to keep passing.
 *
 * @param first outcomes without the fix in the first run. @param baseline before the change: a test that passed there fails without the fix only
 * because the new tests cannot be built without it, and is treated like one that has to keep passing.
 */
export function judgeSteadiness(
  derived: PinnedTests,
  runs: readonly RepeatedRun[],
  repeats: ReadonlyMap<string, Repeats>,
  first: Outcomes = new Map(),
  baseline: Outcomes = new Map(),
): Steadiness {
  const pinned = moveUnrun(derived, runs, first);
  const renamed = findRenamed(pinned, runs, [first, baseline]);
  const failWavers = pinned.failToPass.flatMap((id) => renamed.get(id) ?? findWavering(id, 'fail', runs, repeats.get(id)) ?? []);
  const passWavers = pinned.passToPass.flatMap((id) => findWavering(id, 'pass', runs, repeats.get(id)) ?? []);
  const all = [...failWavers, ...passWavers];
  const dropped = new Set(all.map(({ id }) => id));
  const isLeft = (id: string): boolean => !dropped.has(id);
  const left = { failToPass: pinned.failToPass.filter(isLeft), passToPass: pinned.passToPass.filter(isLeft) };
  const isGrave = ({ id, cause }: Wavering): boolean => cause !== 'name' && baseline.get(id) !== 'passed';
  const gravest = failWavers.find(isGrave) ?? (left.failToPass.length === 0 ? failWavers[0] : undefined);
  return { pinned: left, dropped: all, refusal: explainRefusal(pinned, gravest) };
}

function explainRefusal({ failToPass }: PinnedTests, gravest: Wavering | undefined): string | null {
  if (gravest !== undefined) return `${gravest.id} does not come out the same each time (${gravest.cause}): ${gravest.figure}`;
  return failToPass.length > 0 ? null : 'every test that fails without the fix passes without it in another order';
}

/** Finds tests that no other run has, where each other run has new ones instead. */
function findRenamed(
  { failToPass, passToPass }: PinnedTests,
  runs: readonly RepeatedRun[],
  before: readonly Outcomes[],
): ReadonlyMap<string, Wavering> {
  const known = new Set([...failToPass, ...passToPass, ...before.flatMap((outcomes) => [...outcomes.keys()])]);
  if (!runs.every(({ withFix }) => [...withFix.keys()].some((id) => !known.has(id)))) return new Map();
  const all = [...before, ...runs.flatMap(({ without, withFix }) => [without, withFix])];
  const [count, figure] = [runs.length, 'its name is another one in each run'];
  const gone = failToPass.filter((id) => all.every((outcomes) => !outcomes.has(id)));
  return new Map(gone.map((id) => [id, { id, cause: 'name', figure, failures: count, runs: count }]));
}

/** Moves tests that were missing without the fix in one order and passed in another. */
function moveUnrun(derived: PinnedTests, runs: readonly RepeatedRun[], first: Outcomes): PinnedTests {
  const isUnrun = (id: string): boolean => {
    const without = [first, ...runs.map((run) => run.without)].map((outcomes) => outcomes.get(id));
    return without.includes('passed') && without.every((outcome) => outcome === 'passed' || outcome === undefined);
  };
  const moved = derived.failToPass.filter(isUnrun);
  if (moved.length === 0) return derived;
  const failToPass = derived.failToPass.filter((id) => !moved.includes(id));
  return { failToPass, passToPass: [...derived.passToPass, ...moved].sort() };
}

/** @throws Refused (`steadiness`) */
export function assertSteady({ refusal }: Steadiness): void {
  if (refusal !== null) throw new Refused('steadiness', refusal);
}

function findWavering(
  id: string,
  role: 'fail' | 'pass',
  runs: readonly RepeatedRun[],
  repeated: Repeats | undefined,
): Wavering | undefined {
  const isOdd = ({ without, withFix }: RepeatedRun): boolean => {
    const [before, after] = [without.get(id), withFix.get(id)];
    const isBefore = role === 'pass' ? before === 'passed' || before === undefined : before !== 'passed' && before !== 'doubled';
    // A failing test may have ended the process before this one ran. The gate runs this one without it.
    const isAfter = after === 'passed' || (after === undefined && [...withFix.values()].includes('failed'));
    return !isBefore || !isAfter;
  };
  if (repeated !== undefined && repeated.failures > 0) {
    const share = repeated.runs === repeated.failures ? 1 : repeated.failures / repeated.runs;
    const figure = `it failed in ${repeated.failures} of ${repeated.runs} runs (${(100 * share).toFixed(1)} %)`;
    return { id, cause: repeated.failures === repeated.runs ? 'order' : 'chance', figure, ...repeated };
  }
  const odd = runs.filter(isOdd);
  if (odd.length === 0) return undefined;
  const twists = new Set(odd.map(({ twist }) => twist));
  const isAlways = (twist: RunTwist): boolean => runs.every((run) => run.twist !== twist || isOdd(run));
  const cause = twists.has('none') ? 'chance' : twists.size === 1 && twists.has('clock') && isAlways('clock') ? 'clock' : 'order';
  const figure = `it differed in ${odd.length} of ${runs.length} runs${cause === 'clock' ? ', those at another time' : cause === 'order' ? ', in another order' : ''}`;
  return { id, cause, figure, failures: odd.length, runs: runs.length };
}
