import { LRUCache } from 'lru-cache';
import type { UsageLedger } from '../../evaluation-store/usage-ledger.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Digest } from '../../kernel/ids.ts';
import { QuotaError } from '../access/quota-error.ts';
import { findStartOfDay, decide, type Quota, type QuotaRequest } from '../access/quota.ts';

export interface QuotaGateOptions {
  readonly usage: UsageLedger;
  readonly quotaOf: (principal: string) => Quota;
  readonly clock: Clock;
}

/** What a principal has been admitted for and has not received yet. */
interface PendingRequest {
  readonly principal: string;
  readonly evaluations: number;
  /** Of an upload, that are still to come. */
  readonly bytes: number;
  /** Which upload: several streams of it bring the same bytes. */
  readonly digest?: Digest;
}

/**
 * Lets requests in as far as their principal's quota goes. What was let in counts until it is disposed of, by which time the store counts it:
 * of many requests at the same moment no more get in than there is room for. Another Muster on the store may let in as many.
 */
export class QuotaGate {
  readonly #options: QuotaGateOptions;
  readonly #asked = new Set<PendingRequest>();
  readonly #waiting: WaitingCounts;

  constructor(options: QuotaGateOptions) {
    this.#options = options;
    this.#waiting = new WaitingCounts(options.usage, options.clock);
  }

  /** Room for an evaluation. @throws QuotaError `quota.waiting-evaluations`, `quota.episodes-per-day` */
  async admitSubmission(principal: string): Promise<Disposable> {
    const { usage, quotaOf, clock } = this.#options;
    const quota = quotaOf(principal);
    return this.#enter({ principal, evaluations: 1, bytes: 0 }, async (others) => {
      const asked = others.reduce((sum, { evaluations }) => sum + evaluations, 0);
      const { waitingEvaluations: limit } = quota;
      const waiting = limit === undefined ? 0 : await this.#waiting.of(principal, limit, asked);
      const episodesToday =
        quota.episodesPerDay === undefined ? 0 : await usage.countEpisodesSince(principal, findStartOfDay(clock.date()));
      this.#assertAllowed(quota, { kind: 'submit', evaluations: 1, waiting: waiting + asked, episodesToday });
    });
  }

  /**
   * Room for what is still to come of an upload.
   *
   * @param bytes that are missing. @param pendingBytes what the principal's unfinished uploads hold.
   * @throws QuotaError `quota.checkpoint-bytes`
   */
  async upload(principal: string, digest: Digest, bytes: number, pendingBytes: () => Promise<number>): Promise<Disposable> {
    const { usage, quotaOf } = this.#options;
    const quota = quotaOf(principal);
    return this.#enter({ principal, evaluations: 0, bytes, digest }, async (others) => {
      if (quota.checkpointBytes === undefined) return;
      const kept = (await usage.sumCheckpointBytes(principal)) + (await pendingBytes()) + countBytesOfOthers(others, digest);
      this.#assertAllowed(quota, { kind: 'upload', bytes, kept });
    });
  }

  /** @param check gets what the principal was admitted for so far, and refuses. */
  async #enter(wanted: PendingRequest, check: (others: readonly PendingRequest[]) => Promise<void>): Promise<Disposable> {
    const others = [...this.#asked].filter(({ principal }) => principal === wanted.principal);
    // Counted before it is known whether there is room: who asks meanwhile sees it.
    this.#asked.add(wanted);
    try {
      await check(others);
    } catch (error) {
      this.#asked.delete(wanted);
      throw error;
    }
    return { [Symbol.dispose]: () => void this.#asked.delete(wanted) };
  }

  #assertAllowed(quota: Quota, request: QuotaRequest): void {
    const decision = decide(quota, request, this.#options.clock.date());
    if (decision.kind === 'refuse') throw new QuotaError(decision);
  }
}

/** Each upload once, however many streams of it there are. */
function countBytesOfOthers(others: readonly PendingRequest[], than: Digest): number {
  const byDigest = new Map<Digest, number>();
  for (const { digest, bytes } of others)
    if (digest !== undefined && digest !== than) byDigest.set(digest, Math.max(bytes, byDigest.get(digest) ?? 0));
  return [...byDigest.values()].reduce((sum, bytes) => sum + bytes, 0);
}

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
  readonly #usage: Pick<UsageLedger, 'countWaiting'>;
  readonly #clock: Clock;
  readonly #counts = new LRUCache<string, Count>({ max: MOST_PRINCIPALS });
  #requests = 0;

  constructor(usage: Pick<UsageLedger, 'countWaiting'>, clock: Clock) {
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
    const waiting = await this.#usage.countWaiting(principal);
    this.#counts.set(principal, { waiting: waiting + asked, at: now, before });
    return waiting;
  }
}
