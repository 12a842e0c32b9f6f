import { STATISTICS_VERSION } from '../../aggregation/statistics-version.ts';
import type { NewEvaluation } from '../../evaluation-store/evaluation-record.ts';
import type { EvaluationId } from '../../kernel/ids.ts';
import type { StopOverride } from '../../orchestrator/suite/suite-definition.ts';
import { listCheckpoints, type EvaluationOrder, type OrderedContent } from '../orders/evaluation-order.ts';
import type { CheckpointReference, Library, SuiteReference } from '../orders/library.ts';
import { runSideBySide } from './side-by-side.ts';

/** A caller's submission, as it was sent. */
export interface Submission {
  readonly suite: SuiteReference;
  /** Replaces the suite's own rule. */
  readonly stop?: StopOverride | undefined;
  readonly question:
    | { readonly kind: 'evaluation'; readonly checkpoint: CheckpointReference }
    | {
        readonly kind: 'comparison';
        readonly baseline: CheckpointReference;
        readonly candidates: readonly CheckpointReference[];
        readonly terms: Terms;
      };
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly cache: boolean;
  readonly deadline?: Date | undefined;
  readonly webhook?: { readonly url: string } | undefined;
}

export interface Terms {
  readonly confidence?: number;
  readonly margin?: number;
  readonly budgetEpisodes?: number;
}

/** An evaluation that can be played, or answered. */
export interface OrderedEvaluation extends NewEvaluation {
  readonly request: EvaluationOrder;
}

/**
 * Stores everything that the submission names: an accepted evaluation no longer depends on files that may change.
 *
 * @throws InputError when a part of it is wrong.
 */
export async function createOrder(
  submission: Submission,
  principal: string,
  id: EvaluationId,
  library: Library,
  signal: AbortSignal,
): Promise<OrderedEvaluation> {
  const { question, labels, priority } = submission;
  const [suite, asked] = await runSideBySide(
    () => library.orderSuite(submission.suite, submission.stop, signal),
    (either) => resolveQuestion(question, (reference) => orderNamed(library, reference, principal, either)),
    signal,
  );
  const request: EvaluationOrder = {
    schema: 'muster.order/1',
    statistics: STATISTICS_VERSION,
    suite: suite.written,
    suiteDigest: suite.digest,
    ...(suite.files ? { suiteFiles: suite.files } : {}),
    cache: submission.cache,
    ...(submission.deadline ? { deadline: submission.deadline } : {}),
    ...(submission.webhook ? { webhook: submission.webhook } : {}),
    ...asked,
  };
  // Checked now, while the caller can still choose another template.
  library.assertPlayable(suite.written.template, listCheckpoints(request));
  const named = question.kind === 'evaluation' ? question.checkpoint : question.candidates[0];
  return { id, principal, request, suite: suite.written.name, run: named?.run, version: named?.version, labels, priority };
}

async function orderNamed(
  library: Library,
  reference: CheckpointReference,
  principal: string,
  signal: AbortSignal,
): Promise<OrderedContent> {
  const content = await library.orderCheckpoint(reference, principal, signal);
  return reference.name === undefined ? content : { ...content, name: reference.name };
}

type OrderedQuestion =
  | { readonly kind: 'evaluation'; readonly checkpoint: OrderedContent }
  | { readonly kind: 'comparison'; readonly baseline: OrderedContent; readonly candidates: OrderedContent[]; readonly terms: Terms };

type Bring = (reference: CheckpointReference) => Promise<OrderedContent>;

async function resolveQuestion(question: Submission['question'], bring: Bring): Promise<OrderedQuestion> {
  switch (question.kind) {
    case 'evaluation':
      return { kind: 'evaluation', checkpoint: await bring(question.checkpoint) };
    case 'comparison': {
      const baseline = await bring(question.baseline);
      const candidates = [];
      for (const candidate of question.candidates) candidates.push(await bring(candidate));
      return { kind: 'comparison', baseline, candidates, terms: question.terms };
    }
  }
}

/** Lists the checkpoints of the order that the caller named by where they are: the server read them there, and so the caller may have them. */
export function listContentNamedByUri(question: Submission['question'], order: EvaluationOrder): readonly OrderedContent[] {
  const references = question.kind === 'evaluation' ? [question.checkpoint] : [question.baseline, ...question.candidates];
  return listCheckpoints(order).filter((_, i) => {
    const reference = references[i];
    return reference !== undefined && 'uri' in reference;
  });
}
