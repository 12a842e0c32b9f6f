import type { Constraint } from '../tasks/muster-schema.ts';
import type { StagedVerifier, Verifier } from '../tasks/task.ts';
import type { CasesEvidence, CompareEvidence, ConstraintsEvidence, Ending, Evidence, EvidenceStage, SuiteEvidence } from './evidence.ts';
import { judgeTests } from './judge-tests.ts';
import { scoreRatio } from './score.ts';
import { readScriptReward } from './script-reward.ts';
import type { StageOutcome, Verdict } from './verdict.ts';

/** The result of the evidence so far. */
export interface Judged {
  readonly stages: readonly StageOutcome[];
  /** It is undefined until the cases or tests have been judged. */
  readonly correctness: number | undefined;
  readonly speed: number | undefined;
  readonly efficiency: number | undefined;
  readonly problem: NonNullable<Verdict['problem']> | undefined;
  /** True when the stages that could follow would not change the reward. */
  readonly isDecided: boolean;
}

type Finding = Partial<Pick<Judged, 'correctness' | 'speed' | 'efficiency' | 'problem'>> & { readonly outcome: StageOutcome };

/** The most that a stage's sentence lists by name. */
const MOST_NAMED = 5;

export function judgeStages(verifier: Verifier, evidence: readonly Evidence[]): Judged {
  const findings = evidence.map((one) => judgeEvidence(verifier, evidence, one));
  const correctness = findings.findLast((found) => found.correctness !== undefined)?.correctness;
  const speed = findings.findLast((found) => found.speed !== undefined)?.speed;
  const efficiency = findings.findLast((found) => found.efficiency !== undefined)?.efficiency;
  const problem = findings.find((found) => found.problem !== undefined)?.problem;
  const stages = findings.map(({ outcome }) => outcome);
  const hasFailed = stages.some(
    ({ stage, outcome }) => outcome === 'failed' && (stage !== 'execute' || verifier.kind === 'script') && stage !== 'compare',
  );
  const isDecided = problem !== undefined || hasFailed || correctness === 0;
  return { stages, correctness, speed, efficiency, problem, isDecided };
}

function judgeEvidence(verifier: Verifier, all: readonly Evidence[], one: Evidence): Finding {
  if ('kind' in one && one.kind === 'infrastructure') {
    const detail = one.reason;
    return { outcome: { stage: one.stage, outcome: 'infrastructure', detail }, problem: { kind: 'infrastructure', detail } };
  }
  switch (one.stage) {
    case 'submission':
      return { outcome: endStage('submission', one.problem ?? '') };
    case 'compile':
      return { outcome: endStage('compile', findEndingProblem(one.ending)) };
    case 'execute':
      return judgeExecuted(verifier, one);
    case 'compare':
      return judgeCompared(requireStaged(verifier), all, one);
    case 'constraints':
      return { outcome: endStage('constraints', formatList(findViolations(requireStaged(verifier).constraints, one))) };
    case 'score':
      return judgeScored(requireStaged(verifier), one);
  }
}

function requireStaged(verifier: Verifier): StagedVerifier {
  if (verifier.kind === 'staged') return verifier;
  throw new RangeError('evidence of a stage that a script verifier does not have');
}

/** @param problem empty when it passed. */
function endStage(stage: EvidenceStage, problem: string): StageOutcome {
  return { stage, outcome: problem === '' ? 'passed' : 'failed', detail: problem };
}

type Executed = Extract<Evidence, { readonly stage: 'execute' }>;

function judgeExecuted(verifier: Verifier, one: Exclude<Executed, { readonly kind: 'infrastructure' }>): Finding {
  switch (one.kind) {
    case 'script': {
      const found = readScriptReward(one);
      if (found.kind === 'reward')
        return { outcome: endStage('execute', found.reward > 0 ? '' : 'the script gave 0'), correctness: found.reward };
      if (found.kind === 'none') return { outcome: endStage('execute', found.detail), correctness: 0 };
      return { outcome: endStage('execute', found.detail), problem: { kind: 'verifier', detail: found.detail } };
    }
    case 'suite':
      return judgeSuite(requireStaged(verifier), one);
    case 'cases': {
      const failures = one.cases.flatMap(({ name, runs }) => runs.map(({ ending }) => [name, findEndingProblem(ending)] as const));
      const problems = failures.filter(([, problem]) => problem !== '').map(([name, problem]) => `case ${name}: ${problem}`);
      const isOver = problems.length > 0 && requireStaged(verifier).score.correctness === 'all';
      const outcome = endStage('execute', one.cases.length === 0 ? 'no case was run' : formatList(problems));
      return { outcome, ...(isOver || one.cases.length === 0 ? { correctness: 0 } : {}) };
    }
  }
}

function judgeSuite({ execute, score }: StagedVerifier, one: SuiteEvidence): Finding {
  if (execute.kind !== 'suite') throw new RangeError('evidence of a test suite for a task with cases');
  const expectedRuns = execute.boundary === 'shared' ? 2 : 1;
  const { share, problems } = judgeTests(execute, one.runs);
  const missing = one.runs.length < expectedRuns ? [`it ran ${one.runs.length} of ${expectedRuns} times`] : [];
  const isWhole = share === 1 && missing.length === 0;
  const partial = score.correctness === 'share' && missing.length === 0 ? share : 0;
  return { outcome: endStage('execute', formatList([...missing, ...problems])), correctness: isWhole ? 1 : partial };
}

function judgeCompared({ execute, score }: StagedVerifier, all: readonly Evidence[], one: CompareEvidence): Finding {
  const run = all.find((found) => found.stage === 'execute' && found.kind === 'cases');
  if (run === undefined || !('cases' in run) || execute.kind !== 'cases')
    throw new RangeError('outputs were compared before they were made');
  const unequal = one.cases.filter(({ isEqual }) => !isEqual);
  const problems = unequal.map(({ name, difference }) => `case ${name}: ${difference ?? 'another output'}`);
  return { outcome: endStage('compare', formatList(problems)), correctness: computeCorrectness(score.correctness, run, one) };
}

/** Cases that the agent was shown never count alone. */
function computeCorrectness(mode: 'all' | 'share', { cases }: Pick<CasesEvidence, 'cases'>, { cases: compared }: CompareEvidence): number {
  const equal = new Set(compared.filter(({ isEqual }) => isEqual).map(({ name, run }) => `${run} ${name}`));
  const right = cases.filter(({ name, runs }) =>
    runs.every(({ ending }, run) => findEndingProblem(ending) === '' && equal.has(`${run} ${name}`)),
  );
  if (cases.length === 0 || right.every(({ isVisible }) => isVisible)) return 0;
  const share = right.length / cases.length;
  return mode === 'share' || share === 1 ? share : 0;
}

/** Says in which way a program did not end as it should; empty when it did. */
export function findEndingProblem(ending: Ending): string {
  switch (ending.kind) {
    case 'exited':
      return ending.code === 0 ? '' : `ended with status ${ending.code}`;
    case 'signal':
      return `was ended by ${ending.signal}`;
    case 'timeout':
      return 'did not end in time';
    case 'out-of-memory':
      return 'took more memory than it may';
    case 'output-too-large':
      return 'wrote more than it may';
    case 'no-output':
      return ending.detail;
  }
}

function findViolations(constraints: readonly Constraint[], { measured }: ConstraintsEvidence): readonly string[] {
  return constraints.flatMap((constraint, at) => {
    const found = measured[at];
    const name = constraint.of === undefined ? constraint.measure : `${constraint.measure} of ${constraint.of}`;
    if (found === undefined || found.measure !== constraint.measure) return [`${name}: was not measured`];
    if ('forbidden' in constraint) {
      if (!('found' in found) || found.found === null) return [`${name}: ${found.reason ?? 'there is nothing to look at'}`];
      return found.found.length === 0 ? [] : [`${name}: ${found.found.slice(0, MOST_NAMED).join(', ')} may not be used`];
    }
    if (!('value' in found) || found.value === null || Number.isNaN(found.value))
      return [`${name}: ${found.reason ?? 'there is nothing to measure'}`];
    return found.value <= constraint.most ? [] : [`${name} is ${found.value}; at most ${constraint.most} is allowed`];
  });
}

type Scored = Extract<Evidence, { readonly stage: 'score' }>;

function judgeScored({ score }: StagedVerifier, one: Exclude<Scored, { readonly kind: 'infrastructure' }>): Finding {
  // A result that is only sometimes right counts as wrong.
  const outcome = endStage('score', one.wrong ?? '');
  const terms = score[one.kind];
  if (terms === undefined) throw new RangeError(`evidence of ${one.kind}, which the task does not ask for`);
  if (one.kind === 'speed') return { outcome, speed: scoreRatio(one.ratio, terms) };
  return { outcome, efficiency: scoreRatio(one.candidate > 0 ? one.golden / one.candidate : 0, terms) };
}

function formatList(problems: readonly string[]): string {
  const named = problems.slice(0, MOST_NAMED).join('; ');
  return problems.length > MOST_NAMED ? `${named}; and ${problems.length - MOST_NAMED} more` : named;
}
