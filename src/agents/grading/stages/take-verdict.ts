import { sleep } from '../../../kernel/clock.ts';
import type { Digest } from '../../../kernel/ids.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { digestVerifier } from '../../tasks/task-digest.ts';
import type { Evidence, InfrastructureEvidence, SubmissionEvidence } from '../../verification/evidence.ts';
import { planStages, type StageRequest } from '../../verification/plan-stages.ts';
import { VERIFIER_VERSION, type Verdict } from '../../verification/verdict.ts';
import { shortenEvidence } from '../endings.ts';
import { gradeScript } from '../grade-script.ts';
import type { Grading, GradingContext } from '../grading-context.ts';
import { StagedGrading } from './staged-grading.ts';
import type { Submission } from '../submission.ts';

/** How often a verdict is taken that the infrastructure has spoilt. */
const ATTEMPTS = 3;
/**
 * The pause before the second attempt. The pause before the third is four times as long: what has spoilt one attempt often lasts for seconds, and
 * would spoil all of them at once.
 */
const PAUSE_MS = 1000;

/**
 * Grades a submission. Each attempt has its own sandboxes; one that the infrastructure has spoilt is repeated from the beginning, with the same seed.
 *
 * @throws InputError when the task cannot be graded as declared; the signal's reason.
 */
export async function takeVerdict(grading: Grading, context: GradingContext, signal: AbortSignal): Promise<Verdict> {
  const digest = digestVerifier(grading.task, grading.step, VERIFIER_VERSION);
  for (let attempt = 1; ; attempt += 1) {
    const verdict = await takeOnce(grading, context, digest, signal);
    if (verdict.problem?.kind !== 'infrastructure' || attempt === ATTEMPTS) return verdict;
    await sleep(context.clock, PAUSE_MS * 4 ** (attempt - 1), signal);
  }
}

async function takeOnce(grading: Grading, context: GradingContext, digest: Digest, signal: AbortSignal): Promise<Verdict> {
  const evidence: Evidence[] = [];
  const { verifier } = grading.step;
  const staged = verifier.kind === 'staged' ? new StagedGrading(grading, verifier, context) : undefined;
  for (;;) {
    const plan = planStages(verifier, evidence, digest);
    if (plan.kind === 'verdict') return plan.verdict;
    context.onStage?.(plan.request.stage);
    evidence.push(await carryOut(plan.request, grading, staged, context, signal));
  }
}

async function carryOut(
  request: StageRequest,
  grading: Grading,
  staged: StagedGrading | undefined,
  context: GradingContext,
  signal: AbortSignal,
): Promise<Evidence> {
  try {
    if (request.stage === 'submission') return createSubmissionEvidence(grading.submission);
    if (request.stage === 'execute' && request.kind === 'script') return await gradeScript(grading, request.verifier, context, signal);
    if (staged === undefined) throw new RangeError(`stage ${request.stage} of a task that has none`);
    return await staged.carryOut(request, signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof InfrastructureError)) throw error;
    const failed: InfrastructureEvidence = { stage: request.stage, kind: 'infrastructure', reason: shortenEvidence(error.message) };
    return failed;
  }
}

function createSubmissionEvidence({ files, problem }: Submission): SubmissionEvidence {
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
  return { stage: 'submission', problem: problem ?? null, files: files.length, bytes };
}
