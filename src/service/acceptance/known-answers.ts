import { LRUCache } from 'lru-cache';
import type { AnswerCache, GivenAnswer, Question } from '../../evaluation-store/answer-cache.ts';

/** An entry takes some kilobytes. */
const MOST_KNOWN = 200;

/**
 * Recent repeated answers, cached to spare the store. The store decides: when it has forgotten an answer, it repeats nothing, and the entry is
 * removed here, too.
 */
export class KnownAnswers implements AnswerCache {
  readonly #store: AnswerCache;
  readonly #known = new LRUCache<Question, GivenAnswer>({ max: MOST_KNOWN });

  constructor(store: AnswerCache) {
    this.#store = store;
  }

  async findAnswer(question: Question): Promise<GivenAnswer | undefined> {
    const known = this.#known.get(question) ?? (await this.#store.findAnswer(question));
    if (known) this.#known.set(question, known);
    return known;
  }

  async repeat(...[evaluation, answer, idempotency]: Parameters<AnswerCache['repeat']>): ReturnType<AnswerCache['repeat']> {
    const acceptance = await this.#store.repeat(evaluation, answer, idempotency);
    if (!acceptance) for (const [question, given] of this.#known) if (given.key === answer.given.key) this.#known.delete(question);
    return acceptance;
  }
}
