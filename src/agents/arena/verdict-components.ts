import type { ObservationData } from '../actions/observation.ts';
import type { Verdict } from '../verification/verdict.ts';
import type { Evidence } from '../verification/evidence.ts';
import type { RewardComponents } from './reward.ts';

/** Mistakes of an agent in the form of an action, each counted once. */
const MISFITS = ['malformed', 'unknown-action', 'not-allowed'] as const;

export interface TestCounts {
  readonly passed: number;
  readonly total: number;
}

/** Counts the tests or cases of a verdict; a script with a reward counts as one. */
export function countTests({ evidence, reward }: Verdict): TestCounts {
  const execute = evidence.find((each) => each.stage === 'execute' && each.kind !== 'infrastructure');
  if (execute === undefined || execute.stage !== 'execute') return { passed: 0, total: 0 };
  switch (execute.kind) {
    case 'script':
      return { passed: reward !== null && reward >= 1 ? 1 : 0, total: 1 };
    case 'cases':
      return countCases(evidence, execute.cases);
    case 'suite':
      return countSuite(execute.runs);
  }
}

function countCases(evidence: readonly Evidence[], cases: Extract<Evidence, { kind: 'cases' }>['cases']): TestCounts {
  const compared = evidence.flatMap((each) => (each.stage === 'compare' && !('kind' in each) ? each.cases : []));
  const equal = Map.groupBy(compared, ({ name }) => name);
  const passed = cases.filter(({ name, runs }) => {
    const comparisons = equal.get(name) ?? [];
    return comparisons.length === runs.length && comparisons.every(({ isEqual }) => isEqual);
  });
  return { passed: passed.length, total: cases.length };
}

/** A test has passed when it has in every run. */
function countSuite(runs: Extract<Evidence, { kind: 'suite' }>['runs']): TestCounts {
  const statuses = Map.groupBy(
    runs.flatMap(({ results }) => results),
    ({ id }) => id,
  );
  const passed = [...statuses.values()].filter(
    (results) => results.length === runs.length && results.every(({ status }) => status === 'passed'),
  );
  return { passed: passed.length, total: statuses.size };
}

/** Builds the components of a reward, from the verdict and the agent's observations. */
export function buildRewardComponents(
  verdict: Verdict,
  observations: readonly ObservationData[],
  { style, time }: Pick<RewardComponents, 'style' | 'time'>,
): RewardComponents {
  const { total } = countTests(verdict);
  const isGradual = verdict.evidence.some((each) => 'kind' in each && each.kind === 'script');
  const core = verdict.components.find(({ name }) => name === 'correctness')?.score ?? 0;
  const kinds = new Set(observations.flatMap((data) => (data.kind === 'refused' ? MISFITS.filter((each) => each === data.reason) : [])));
  return {
    gate: verdict.gate,
    core,
    // The smallest difference between two products of the shares of tests that must pass and must keep passing. A script's reward may have any value,
    // so nothing may shape it.
    coreStep: isGradual || total === 0 ? 0 : 1 / total ** 2,
    style,
    time,
    errors: kinds.size / MISFITS.length,
  };
}
