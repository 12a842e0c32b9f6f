import type { AnswerCache, Question } from '../../evaluation-store/answer-cache.ts';
import type { Acceptance, Idempotency } from '../../evaluation-store/evaluation-catalogue.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createConclusion } from '../orders/concluded.ts';
import type { EvaluationOrder } from '../orders/evaluation-order.ts';
import type { Answer, Player } from '../orders/player.ts';
import type { OrderedEvaluation } from './submission.ts';

/** An answer is copied with its episodes in one transaction, which blocks the store: some milliseconds for this many. */
const MOST_EPISODES = 2000;

export interface RepetitionOptions {
  readonly answers: AnswerCache;
  readonly player: Pick<Player, 'buildQuestion' | 'repeatAnswer'>;
  readonly clock: Clock;
}

/**
 * Accepts an evaluation together with its answer, when the same question was answered before.
 *
 * @returns undefined, and accepts nothing, when it has to be played or assembled from known episodes.
 */
export async function acceptRepeated(
  { answers, player, clock }: RepetitionOptions,
  evaluation: OrderedEvaluation,
  idempotency?: Idempotency,
): Promise<Acceptance | undefined> {
  const { id, principal, request: order } = evaluation;
  // Whatever comes after its deadline is over without an answer.
  const startedAt = clock.date();
  const start = clock.now();
  if (!order.cache || (order.deadline !== undefined && order.deadline <= startedAt)) return undefined;
  const given = await answers.findAnswer(player.buildQuestion(order, principal));
  const run = { startedAt: startedAt.toISOString(), seconds: (clock.now() - start) / 1000 };
  const summary = given && player.repeatAnswer(order, given.summary, run);
  if (!given || !summary) return undefined;
  const { webhooks } = createConclusion(id, order, { state: 'finished', summary });
  return answers.repeat(evaluation, { given, summary, webhooks }, idempotency);
}

/**
 * Returns the question whose later callers get this answer; undefined when the order plays all episodes itself, or when the answer is partial or too
 * large to be copied at once.
 */
export function getAnsweredQuestion(
  player: Pick<Player, 'buildQuestion'>,
  order: EvaluationOrder,
  principal: string,
  { partial, run }: Answer,
): Question | undefined {
  const episodes = run.outcomes + (run.recalled ?? 0);
  return order.cache && !partial && episodes <= MOST_EPISODES ? player.buildQuestion(order, principal) : undefined;
}
