import { LRUCache } from 'lru-cache';
import type { UsageLedger } from '../../evaluation-store/usage-ledger.ts';
import type { Clock } from '../../kernel/clock.ts';

/** As long a count is added to before the store is asked for another. */
const GOOD_MILLISECONDS = 1000;
/** Beyond this share of what is allowed each request is counted anew: what ended meanwhile makes room, and other Musters may have let in more. */
const FAR_FROM_LIMIT = 0.5;
/** Some hundred bytes each. */
const MOST_PRINCIPALS = 1000;

interface Count {
  /** Evaluations that waited, and those that were on their way to. */
  readonly waiting: number;
  /** Milliseconds on the clock. */
  readonly at: number;
  /** Requests before it, of whomever. */
  readonly before: number;
}

/**
 * How many evaluations of principals wait. Far from what is allowed, the requests since the last count are added to it, so that the store is
 * asked once a second and not for each.
 */
export class WaitingCounts {
  readonly #usage: Pick<UsageLedger, 'waiting'>;
  readonly #clock: Clock;
  readonly #counts = new LRUCache<string, Count>({ max: MOST_PRINCIPALS });
  #requests = 0;

  constructor(usage: Pick<UsageLedger, 'waiting'>, clock: Clock) {
    this.#usage = usage;
    this.#clock = clock;
  }

  /**
   * For one more request.
   *
   * @param limit that is allowed. @param asked evaluations that were let in and that the store does not count yet.
   * @returns as many as wait, or more where that is far below the limit.
   */
  async of(principal: string, limit: number, asked: number): Promise<number> {
    const before = this.#requests;
    this.#requests += 1;
    const known = this.#counts.get(principal);
    const now = this.#clock.now();
    if (known && now - known.at < GOOD_MILLISECONDS) {
      // Those of others are among them: it is no more than a bound.
      const most = known.waiting + before - known.before;
      if (most < FAR_FROM_LIMIT * limit) return most;
    }
    const waiting = await this.#usage.waiting(principal);
    this.#counts.set(principal, { waiting: waiting + asked, at: now, before });
    return waiting;
  }
}
