import { formatCanonicalJson, digestBytes } from '../../kernel/canonical-json.ts';
import { computeOnce } from '../../kernel/once.ts';
import type { CasesStage } from '../tasks/muster-schema.ts';
import type { TestCase } from '../tasks/test-case.ts';
import type { CasesEvidence, CompareEvidence } from '../verification/evidence.ts';
import type { CommandResult } from '../workspace/command.ts';
import type { CandidateTerms } from './candidate-terms.ts';
import { describeCandidateTemplate } from './grading-template.ts';
import { drawOrderOfRuns } from './order-of-runs.ts';
import { describeNotRun, runCandidate, type Turn } from './run-candidate.ts';
import type { ExpectedCase } from './expected-cases.ts';
import { computeTrustedCases } from './trusted-cases.ts';

/** Wrong cases whose outputs are kept. */
const OUTPUTS_KEPT = 20;

type Run = CasesEvidence['cases'][number]['runs'][number];
type Compared = CompareEvidence['cases'][number];

export interface GradedCases {
  readonly evidence: CasesEvidence;
  /** Made when each output arrived; they are the evidence of the next stage. */
  readonly comparisons: readonly Compared[];
  readonly measured: readonly Pick<CommandResult, 'seconds' | 'cpuSeconds' | 'peakBytes' | 'called'>[];
  /** The cases that were run, for later measurements. */
  readonly cases: readonly ExpectedCase[];
}

/**
 * Runs the candidate on every case, a process for each, and some of them twice, in an order that the seed decides. Before each run every writable
 * directory is made again, so that nothing of earlier runs is left. Expected outputs never enter its sandbox.
 */
export async function gradeCases(terms: CandidateTerms, execute: CasesStage, signal: AbortSignal): Promise<GradedCases> {
  const cases = await computeTrustedCases(terms, execute, signal);
  const template = describeCandidateTemplate(terms, execute);
  const runs = cases.map((): Run[] => []);
  const comparisons = cases.map((): Compared[] => []);
  const measured: CommandResult[] = [];
  await using sandbox = await terms.context.sandboxes.open(template, signal);
  const either = AbortSignal.any([signal, sandbox.signal]);
  let unrun = AFTER_MEMORY;
  const order = drawOrderOfRuns(cases.length, execute.repeated, terms.grading.seed);
  let next = 0;
  for await (const { run, compared, result } of runCandidate(sandbox.session, terms, execute, listTurns(cases, order), either)) {
    const at = order[next] ?? 0;
    next += 1;
    runs[at]?.push(run);
    if (compared) comparisons[at]?.push(compared);
    if (result) measured.push(result);
    // A run that does not fit into the sandbox will not fit for another case either.
    else unrun = run;
  }
  const evidence = cases.map(({ test, isVisible }, i) => ({
    name: test.name,
    isVisible,
    inputDigest: digestInput(test),
    runs: runs[i]?.length ? runs[i] : [unrun],
  }));
  return {
    evidence: { stage: 'execute', kind: 'cases', seed: terms.grading.seed, cases: evidence },
    comparisons: withFirstOutputs(comparisons.flat()),
    measured,
    cases,
  };
}

function listTurns(cases: readonly ExpectedCase[], order: readonly number[]): readonly Turn[] {
  return order.flatMap((at, i) => {
    const one = cases[at];
    return one ? [{ one, number: order.slice(0, i).filter((before) => before === at).length }] : [];
  });
}

const AFTER_MEMORY = describeNotRun('an earlier case took more memory than it may');

function withFirstOutputs(comparisons: readonly Compared[]): readonly Compared[] {
  let left = OUTPUTS_KEPT;
  return comparisons.map(({ outputs, ...compared }) => {
    if (outputs === undefined || left === 0) return compared;
    left -= 1;
    return { ...compared, outputs };
  });
}

/** The trajectories of a group have the same cases. */
const digestInput = computeOnce(({ arguments: words, stdin, files }: TestCase) =>
  digestBytes(Buffer.from(formatCanonicalJson({ arguments: words, stdin: Buffer.from(stdin).toString('base64'), files }))),
);
