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
  /** Missing bytes of an upload. */
  readonly bytes: number;
  /** Identifies an upload, of which several streams may send the same bytes. */
  readonly digest?: Digest;
}

/**
 * Admits requests within their principal's quota. An admission counts until it is disposed, by which time the store counts it: so simultaneous
 * requests cannot exceed the quota together. Another Muster on the store may admit as many.
 */
export class QuotaGate {
  readonly #options: QuotaGateOptions;
  readonly #asked = new Set<PendingRequest>();
  readonly #waiting: WaitingCounts;

  constructor(options: QuotaGateOptions) {
    this.#options = options;
    this.#waiting = new WaitingCounts(options.usage, options.clock);
  }

  /** Reserves room for an evaluation. @throws QuotaError `quota.waiting-evaluations`, `quota.episodes-per-day` */
  async admitSubmission(principal: string): Promise<Disposable> {
    const { usage, quotaOf, clock } = this.#options;
    const quota = quotaOf(principal);
    return this.#enter({ principal, evaluations: 1, bytes: 0 }, async (others) => {
      const asked = others.reduce((sum, { evaluations }) => sum + evaluations, 0);
      const { waitingEvaluations: limit } = quota;
      const waiting = limit === undefined ? 0 : await this.#waiting.count(principal, limit, asked);
      const episodesToday =
        quota.episodesPerDay === undefined ? 0 : await usage.countEpisodesSince(principal, findStartOfDay(clock.date()));
      this.#assertAllowed(quota, { kind: 'submit', evaluations: 1, waiting: waiting + asked, episodesToday });
    });
  }

  /**
   * Reserves room for the rest of an upload.
   *
   * @param bytes that are missing. @param pendingBytes of the principal's unfinished uploads. @throws QuotaError `quota.checkpoint-bytes`
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

  /** @param check gets what the principal was admitted for so far, and throws if there is no room. */
  async #enter(wanted: PendingRequest, check: (others: readonly PendingRequest[]) => Promise<void>): Promise<Disposable> {
    const others = [...this.#asked].filter(({ principal }) => principal === wanted.principal);
    // Counted before it is known whether there is room, so that simultaneous requests see it.
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

/** Counts each upload once, however many streams it has. */
function countBytesOfOthers(others: readonly PendingRequest[], than: Digest): number {
  const byDigest = new Map<Digest, number>();
  for (const { digest, bytes } of others)
    if (digest !== undefined && digest !== than) byDigest.set(digest, Math.max(bytes, byDigest.get(digest) ?? 0));
  return [...byDigest.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** How long requests are added to a count before the store is queried again. */
const GOOD_MILLISECONDS = 1000;
/**
 * Above this share of the quota, each request queries the store: evaluations that ended meanwhile make room, and other Musters may have admitted
 * more.
 */
const FAR_FROM_LIMIT = 0.5;
/** An entry takes some hundred bytes. */
const MOST_PRINCIPALS = 1000;

interface Count {
  /** Waiting evaluations, and those that were being submitted. */
  readonly waiting: number;
  /** Milliseconds on the clock. */
  readonly at: number;
  /** All requests before it, of any principal. */
  readonly before: number;
}

/**
 * Counts the waiting evaluations of principals. Far below the quota, it adds the requests since the last count to that, so that it queries the store
 * once a second and not for each.
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
   * Counts the principal's waiting evaluations when it asks for one more.
   *
   * @param limit of the quota. @param asked evaluations that were admitted and that the store does not count yet. @returns the number that waits, or
   * more where that is far below the limit.
   */
  async count(principal: string, limit: number, asked: number): Promise<number> {
    const before = this.#requests;
    this.#requests += 1;
    const known = this.#counts.get(principal);
    const now = this.#clock.now();
    if (known && now - known.at < GOOD_MILLISECONDS) {
      // Includes other principals' evaluations, so it is only an upper bound.
      const most = known.waiting + before - known.before;
      if (most < FAR_FROM_LIMIT * limit) return most;
    }
    const waiting = await this.#usage.countWaiting(principal);
    this.#counts.set(principal, { waiting: waiting + asked, at: now, before });
    return waiting;
  }
}
