import type { Question } from '../../evaluation-store/answer-cache.ts';
import { choosePartition } from '../../evaluation-store/cache-key.ts';
import { formatCanonicalJson, digestBytes } from '../../kernel/canonical-json.ts';
import type { Digest } from '../../kernel/ids.ts';
import { listContents, type EvaluationOrder } from './evaluation-order.ts';

/** What decides an answer beside what was ordered. */
export interface QuestionContext {
  /** Of the sandbox template's definition. */
  readonly template: Digest;
  /** Of Muster: another one may tell of the same episodes in another way. */
  readonly version: string;
  /** What runs in the sandboxes. */
  readonly runs: 'data' | 'code';
  readonly principal: string;
}

/** Where checkpoints come from, and by when the answer is wanted, has no part in it; who asks has one where code runs. */
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
