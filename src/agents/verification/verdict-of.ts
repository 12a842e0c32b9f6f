import type { Digest } from '../../kernel/ids.ts';
import type { ScoreTerms } from '../tasks/muster-schema.ts';
import type { Verifier } from '../tasks/task.ts';
import type { Evidence } from './evidence.ts';
import { judgeStages } from './judged-stages.ts';
import { weighComponents, computeReward } from './score.ts';
import type { StageOutcome, Verdict } from './verdict.ts';

const SCRIPT_WEIGHTS: ScoreTerms['weights'] = { correctness: 1, speed: 0, efficiency: 0 };

/** Computes the verdict that follows from the evidence; a stage without evidence has not run. */
export function reachVerdict(verifier: Verifier, evidence: readonly Evidence[], verifierDigest: Digest): Verdict {
  const { stages, correctness, speed, efficiency, problem } = judgeStages(verifier, evidence);
  const weights = verifier.kind === 'script' ? SCRIPT_WEIGHTS : verifier.score.weights;
  const isOpen = correctness !== undefined && stages.every((stage) => stage.outcome === 'passed' || isGraded(stage));
  const gate = isOpen && problem === undefined ? 1 : 0;
  const components = weighComponents({ weights }, { correctness: correctness ?? 0, speed, efficiency });
  return {
    reward: problem === undefined ? computeReward(gate, components) : null,
    problem: problem ?? null,
    gate,
    components: [...components],
    stages: [...stages, ...listNotRun(verifier, stages)],
    evidence: [...evidence],
    verifierDigest,
  };
}

/** Failures of single cases and tests are in the correctness already. */
function isGraded({ stage, outcome }: StageOutcome): boolean {
  return outcome === 'failed' && (stage === 'execute' || stage === 'compare');
}

function listNotRun(verifier: Verifier, stages: readonly StageOutcome[]): readonly StageOutcome[] {
  const seen = new Set(stages.map(({ stage }) => stage));
  return getNames(verifier)
    .filter((stage) => !seen.has(stage))
    .map((stage) => ({ stage, outcome: 'not-run', detail: '' }));
}

function getNames(verifier: Verifier): readonly StageOutcome['stage'][] {
  if (verifier.kind === 'script') return ['submission', 'execute'];
  const { compile, execute, constraints, score } = verifier;
  return [
    'submission',
    ...(compile === undefined ? [] : (['compile'] as const)),
    'execute',
    ...(execute.kind === 'cases' ? (['compare'] as const) : []),
    ...(constraints.length === 0 ? [] : (['constraints'] as const)),
    ...(score.speed === undefined && score.efficiency === undefined ? [] : (['score'] as const)),
  ];
}
