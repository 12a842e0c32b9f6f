import type { Question } from '../evaluation-store/answer-cache.ts';
import { canonicalJson, digestOf } from '../kernel/canonical-json.ts';
import type { Digest } from '../kernel/ids.ts';
import { contentsOf, type EvaluationOrder } from './evaluation-order.ts';

/** What decides an answer beside what was ordered. */
export interface QuestionGround {
  /** Of the sandbox template's definition. */
  readonly template: Digest;
  /** Of Muster: another one may tell of the same episodes in another way. */
  readonly version: string;
}

/** Where checkpoints come from, and who wants to know and by when, has no part in it. */
export function questionOf(order: EvaluationOrder, { template, version }: QuestionGround): Question {
  const { kind, suite, suiteDigest } = order;
  const contents = contentsOf(order).map(({ digest }) => digest);
  const terms = order.kind === 'comparison' ? order.terms : undefined;
  return digestOf(canonicalJson({ kind, suite, suiteDigest, contents, terms, template, version }));
}
