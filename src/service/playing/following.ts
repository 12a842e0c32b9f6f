import type { EvaluationStore } from '../../evaluation-store/evaluation-store.ts';
import type { StoredEvaluation } from '../../evaluation-store/evaluation-record.ts';
import type { StoredEvent } from '../../evaluation-store/event-log.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { EvaluationId } from '../../kernel/ids.ts';
import type { Turns } from '../../kernel/turns.ts';
import { isOver } from '../orders/is-over.ts';
import { EndWatch } from './end-watch.ts';
import type { News } from './news.ts';

/** How often a wait checks an evaluation that another process plays. */
const LOOK_AGAIN_MILLISECONDS = 2000;
const EVENTS_AT_A_TIME = 256;

interface FollowingParts {
  readonly store: Pick<EvaluationStore, 'evaluations' | 'events'>;
  readonly clock: Clock;
  readonly turns: Turns;
}

/** Callers that wait for one evaluation, whichever process plays it. */
export class Following {
  readonly #parts: FollowingParts;
  readonly #news: News;
  readonly #ends: EndWatch;

  constructor(parts: FollowingParts, news: News) {
    this.#parts = parts;
    this.#news = news;
    const { evaluations } = parts.store;
    this.#ends = new EndWatch({ evaluations, news, clock: parts.clock, everyMilliseconds: LOOK_AGAIN_MILLISECONDS });
  }

  /** Follows all events of an evaluation after one, as they occur, until it is over. Ends early when the signal is aborted. */
  async *follow(id: EvaluationId, after: number, signal: AbortSignal): AsyncGenerator<StoredEvent> {
    const { store, clock } = this.#parts;
    using listener = this.#news.listen(id, 'progress');
    let last = after;
    while (!signal.aborted) {
      // Looked up first: when it is over by then, its last event is there.
      const evaluation = await store.evaluations.find(id);
      const events = await store.events.readAfter(id, last, EVENTS_AT_A_TIME);
      for (const event of events) {
        yield event;
        last = event.sequence;
      }
      if (events.length > 0) continue;
      if (!evaluation || isOver(evaluation)) return;
      await listener.next(clock, LOOK_AGAIN_MILLISECONDS, signal);
    }
  }

  /**
   * Returns the evaluation when it is over, or its present state when the time has passed or the signal is aborted.
   *
   * @param known as the caller has just received it; it is looked up when left out.
   */
  async waitUntilOver(
    id: EvaluationId,
    milliseconds: number,
    signal: AbortSignal,
    known?: StoredEvaluation,
  ): Promise<StoredEvaluation | undefined> {
    const { store, clock, turns } = this.#parts;
    using listener = this.#news.listen(id, 'end');
    using _watched = this.#ends.watch(id);
    const end = clock.now() + milliseconds;
    for (let evaluation = known ?? (await store.evaluations.find(id)); ; evaluation = await store.evaluations.find(id)) {
      const left = end - clock.now();
      if (!evaluation || isOver(evaluation) || left <= 0 || signal.aborted) return evaluation;
      await listener.next(clock, left, signal);
      await turns.next();
    }
  }
}
