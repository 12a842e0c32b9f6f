import type { SuiteStage } from '../tasks/muster-schema.ts';
import type { SuiteEvidence, TestResult } from './evidence.ts';

export interface TestJudgement {
  /** 0 … 1: the share of tests that had to begin to pass; 0 when anything else is wrong. */
  readonly share: number;
  /** One line for each problem, the most serious first. It is empty when everything is right. */
  readonly problems: readonly string[];
}

type Pinned = Pick<SuiteStage, 'failToPass' | 'passToPass' | 'tripwires'>;

/**
 * Passes when exactly the pinned tests have run, once each, in every run, the tripwires among them have failed and all others have passed. Skipped,
 * xfailed, missing, doubled and unknown count as failed. The exit status decides nothing.
 */
export function judgeTests({ failToPass, passToPass, tripwires }: Pinned, runs: SuiteEvidence['runs']): TestJudgement {
  const wires = new Set(tripwires.map(({ id }) => id));
  const pinned = new Set([...failToPass, ...passToPass, ...wires]);
  const reports = runs.map(({ results }) => Map.groupBy(results, ({ id }) => id));
  const outcome = (id: string): string => findWorst(reports.map((report) => judgeOutcome(report.get(id))));
  const voids = [...wires]
    .filter((id) => outcome(id) !== 'failed')
    .map((id) => `tripwire ${id}: ${outcome(id)}; it has to fail, and the run is void`);
  const unreadable = runs.flatMap(({ problem }) => (problem === null ? [] : [`the report cannot be read: ${problem}`]));
  const unknown = new Set(runs.flatMap(({ results }) => results.map(({ id }) => id)).filter((id) => !pinned.has(id)));
  const notPinned = [...unknown].map((id) => `${id}: is not among the pinned tests`);
  const broken = passToPass.filter((id) => outcome(id) !== 'passed').map((id) => `${id}: ${outcome(id)}; it must continue to pass`);
  const doubled = failToPass.filter((id) => outcome(id) === 'doubled').map((id) => `${id}: doubled`);
  const fatal = [...unreadable, ...voids, ...notPinned, ...broken, ...doubled];
  const unsolved = failToPass.filter((id) => outcome(id) !== 'passed');
  const rest = unsolved.filter((id) => outcome(id) !== 'doubled').map((id) => `${id}: ${outcome(id)}; it has to pass`);
  const isVoid = fatal.length > 0 || runs.length === 0 || failToPass.length === 0;
  return { share: isVoid ? 0 : 1 - unsolved.length / failToPass.length, problems: [...fatal, ...rest] };
}

type Outcome = TestResult['status'] | 'missing' | 'doubled';

function judgeOutcome(results: readonly TestResult[] | undefined): Outcome {
  const [first, second] = results ?? [];
  if (first === undefined) return 'missing';
  if (second !== undefined) return 'doubled';
  return first.status === 'error' ? 'failed' : first.status;
}

/** Returns the outcome that all runs have. When they differ, it is `doubled` if any run has that, and otherwise says that they differ. */
function findWorst(outcomes: readonly Outcome[]): Outcome | 'different from run to run' {
  const [first = 'missing'] = outcomes;
  if (outcomes.every((outcome) => outcome === first)) return first;
  return outcomes.includes('doubled') ? 'doubled' : 'different from run to run';
}
