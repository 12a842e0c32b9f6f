import { QuotaError } from '../access/quota-error.ts';
import { dayOf, decide, type Quota, type QuotaRequest } from '../access/quota.ts';
import type { UsageLedger } from '../evaluation-store/usage-ledger.ts';
import type { Clock } from '../kernel/clock.ts';

export interface QuotaGateOptions {
  readonly usage: UsageLedger;
  readonly quotaOf: (principal: string) => Quota;
  readonly clock: Clock;
}

/** What is asked for and not yet counted elsewhere. */
interface Asked {
  evaluations: number;
  bytes: number;
}

/**
 * Lets requests in as far as their principal's quota goes. What was let in counts until it is disposed of, by which time the store counts it:
 * of many requests at the same moment no more get in than there is room for. Another Muster on the store may let in as many.
 */
export class QuotaGate {
  readonly #options: QuotaGateOptions;
  readonly #asked = new Map<string, Asked>();

  constructor(options: QuotaGateOptions) {
    this.#options = options;
  }

  /** Room for an evaluation. @throws QuotaError `quota.waiting-evaluations`, `quota.episodes-per-day` */
  async submission(principal: string): Promise<Disposable> {
    const { usage, quotaOf, clock } = this.#options;
    const quota = quotaOf(principal);
    return this.#enter(principal, { evaluations: 1, bytes: 0 }, async ({ evaluations }) => {
      const waiting = quota.waitingEvaluations === undefined ? 0 : await usage.waiting(principal);
      const episodesToday = quota.episodesPerDay === undefined ? 0 : await usage.episodesSince(principal, dayOf(clock.date()));
      this.#assertAllowed(quota, { kind: 'submit', evaluations: 1, waiting: waiting + evaluations, episodesToday });
    });
  }

  /**
   * Room for what is still to come of an upload.
   *
   * @param size of the whole, in bytes. @param received bytes of it that have come.
   * @param pendingBytes what the principal's unfinished uploads hold, this one included.
   * @throws QuotaError `quota.checkpoint-bytes`
   */
  async upload(principal: string, size: number, received: number, pendingBytes: () => Promise<number>): Promise<Disposable> {
    const quota = this.#options.quotaOf(principal);
    const missing = Math.max(0, size - received);
    return this.#enter(principal, { evaluations: 0, bytes: missing }, async ({ bytes }) => {
      if (quota.checkpointBytes === undefined) return;
      const kept = (await this.#options.usage.checkpointBytes(principal)) + (await pendingBytes()) + bytes;
      this.#assertAllowed(quota, { kind: 'upload', bytes: missing, kept });
    });
  }

  /** @param check is told what others have been let in for, and refuses. */
  async #enter(principal: string, wanted: Asked, check: (others: Asked) => Promise<void>): Promise<Disposable> {
    const asked = this.#asked.get(principal) ?? { evaluations: 0, bytes: 0 };
    this.#asked.set(principal, asked);
    const others = { ...asked };
    // Counted before it is known whether there is room: who asks meanwhile sees it.
    asked.evaluations += wanted.evaluations;
    asked.bytes += wanted.bytes;
    const leave = (): void => {
      asked.evaluations -= wanted.evaluations;
      asked.bytes -= wanted.bytes;
      if (asked.evaluations === 0 && asked.bytes === 0 && this.#asked.get(principal) === asked) this.#asked.delete(principal);
    };
    try {
      await check(others);
    } catch (error) {
      leave();
      throw error;
    }
    return { [Symbol.dispose]: leave };
  }

  #assertAllowed(quota: Quota, request: QuotaRequest): void {
    const decision = decide(quota, request, this.#options.clock.date());
    if (decision.kind === 'refuse') throw new QuotaError(decision);
  }
}
