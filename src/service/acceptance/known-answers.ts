import { LRUCache } from 'lru-cache';
import type { AnswerCache, GivenAnswer, Question } from '../../evaluation-store/answer-cache.ts';

/** Some kilobytes each. */
const MOST_KNOWN = 200;

/**
 * The answers that were last given again, so that the store is not asked for them once more. It has the last word: it repeats none that has been
 * forgotten meanwhile, and then this one is forgotten here, too.
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
