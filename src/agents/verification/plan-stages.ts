import type { Digest } from '../../kernel/ids.ts';
import type { CasesStage, CompileStage, Constraint, ScoreTerms, SuiteStage } from '../tasks/muster-schema.ts';
import type { ScriptVerifier, Verifier } from '../tasks/task.ts';
import type { Evidence } from './evidence.ts';
import { judgeStages, type Judged } from './judged-stages.ts';
import { reachVerdict } from './verdict-of.ts';
import type { Verdict } from './verdict.ts';

/** The next step; its evidence is appended to the evidence so far. */
export type StageRequest =
  /** Export the artifacts, or read the given directory. */
  | { readonly stage: 'submission' }
  | { readonly stage: 'compile'; readonly compile: CompileStage }
  /** Draw the cases, run the golden model on them, then the candidate. */
  | { readonly stage: 'execute'; readonly kind: 'cases'; readonly execute: CasesStage }
  | { readonly stage: 'execute'; readonly kind: 'suite'; readonly execute: SuiteStage }
  | { readonly stage: 'execute'; readonly kind: 'script'; readonly verifier: ScriptVerifier }
  /** Compare the outputs of the runs that ended well. */
  | { readonly stage: 'compare' }
  | { readonly stage: 'constraints'; readonly constraints: readonly Constraint[] }
  | { readonly stage: 'score'; readonly kind: 'speed'; readonly terms: NonNullable<ScoreTerms['speed']> }
  | { readonly stage: 'score'; readonly kind: 'efficiency'; readonly terms: NonNullable<ScoreTerms['efficiency']> };

export type Plan = { readonly kind: 'next'; readonly request: StageRequest } | { readonly kind: 'verdict'; readonly verdict: Verdict };

/**
 * Returns the next stage, or the verdict as soon as nothing further could change it. Pure: the same evidence always gives the same answer.
 *
 * Stages run from cheap to expensive. A failed stage ends the rest, unless only some cases failed and partial answers count. Figures that shape the
 * reward are measured only if everything else has passed.
 */
export function planStages(verifier: Verifier, evidence: readonly Evidence[], verifierDigest: Digest): Plan {
  const state = judgeStages(verifier, evidence);
  const request = state.isDecided
    ? undefined
    : listRequests(verifier, state).find((one) => !evidence.some((found) => hasAnswered(found, one)));
  if (request !== undefined) return { kind: 'next', request };
  return { kind: 'verdict', verdict: reachVerdict(verifier, evidence, verifierDigest) };
}

function hasAnswered(evidence: Evidence, request: StageRequest): boolean {
  if (evidence.stage !== request.stage) return false;
  return request.stage !== 'score' || ('kind' in evidence && evidence.kind === request.kind);
}

function listRequests(verifier: Verifier, { correctness }: Judged): readonly StageRequest[] {
  if (verifier.kind === 'script') return [{ stage: 'submission' }, { stage: 'execute', kind: 'script', verifier }];
  const { compile, execute, constraints, score } = verifier;
  const isCorrect = correctness === 1;
  return [
    { stage: 'submission' },
    ...(compile === undefined ? [] : [{ stage: 'compile', compile } as const]),
    execute.kind === 'cases' ? { stage: 'execute', kind: 'cases', execute } : { stage: 'execute', kind: 'suite', execute },
    ...(execute.kind === 'cases' ? [{ stage: 'compare' } as const] : []),
    ...(constraints.length === 0 ? [] : [{ stage: 'constraints', constraints } as const]),
    ...(isCorrect && score.speed !== undefined ? [{ stage: 'score', kind: 'speed', terms: score.speed } as const] : []),
    ...(isCorrect && score.efficiency !== undefined ? [{ stage: 'score', kind: 'efficiency', terms: score.efficiency } as const] : []),
  ];
}
