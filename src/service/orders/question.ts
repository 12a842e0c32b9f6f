import type { Question } from '../../evaluation-store/answer-cache.ts';
import { choosePartition } from '../../evaluation-store/cache-key.ts';
import { formatCanonicalJson, digestBytes } from '../../kernel/canonical-json.ts';
import type { Digest } from '../../kernel/ids.ts';
import { listContents, type EvaluationOrder } from './evaluation-order.ts';

/** What decides an answer besides the order. */
export interface QuestionContext {
  /** Digest of the sandbox template's definition. */
  readonly template: Digest;
  /** Version of Muster: another one may describe the same episodes differently. */
  readonly version: string;
  /** What runs in the sandboxes. */
  readonly runs: 'data' | 'code';
  readonly principal: string;
}

/** Excludes the origin of checkpoints and the deadline; includes the principal only where code runs. */
export function buildQuestion(order: EvaluationOrder, { template, version, runs, principal }: QuestionContext): Question {
  const { kind, suite, suiteDigest, statistics } = order;
  const contents = listContents(order).map(({ digest }) => digest);
  const terms = order.kind === 'comparison' ? order.terms : undefined;
  return digestBytes(
    formatCanonicalJson({
      kind,
      suite,
      suiteDigest,
      contents,
      terms,
      statistics,
      template,
      version,
      partition: choosePartition(runs, principal),
    }),
  );
}
