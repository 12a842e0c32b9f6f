import { InfrastructureError } from '../kernel/errors.ts';
import type { EvaluationId, OwnerId } from '../kernel/ids.ts';

/**
 * The exclusive, expiring right to play an evaluation. Every write of an owner carries it, and is refused once another owner has claimed
 * the evaluation, however late the write arrives. An owner that is late but not replaced may continue.
 */
export interface Ownership {
  readonly evaluation: EvaluationId;
  /** The store's own key of the evaluation. */
  readonly key: number;
  readonly owner: OwnerId;
  /** Grows with every claim. */
  readonly fence: number;
}

export interface Claimable {
  readonly id: EvaluationId;
  readonly principal: string;
  readonly priority: number;
}

export interface Renewal {
  /** A caller has asked to cancel the evaluation; its owner has to do so. */
  readonly cancelRequested: boolean;
}

/** Another process has claimed the evaluation. The process that receives this error stops playing it and writes nothing more about it. */
export class OwnershipLostError extends InfrastructureError {
  constructor({ evaluation, owner }: Ownership) {
    super(
      'store.ownership-lost',
      `evaluation ${evaluation} is no longer ${owner}'s: its ownership had expired, and another Muster took it over`,
    );
  }
}

/**
 * Says which process plays which evaluation. Times are those of each process's own clock: wrong clocks never break fencing, they only make a
 * take-over early or late. In a store that one process at a time can open, all ownership ends when it is opened.
 */
export interface Ownerships {
  /**
   * Lists evaluations that are not over and have no owner, or one whose time has passed. Principals take turns: the first evaluation of each, then
   * the second of each, …; a principal's evaluations are ordered by falling priority, then by age. So every principal with something to claim is
   * included, however many evaluations others have.
   */
  listClaimable(limit: number): Promise<readonly Claimable[]>;

  /** @returns undefined when another process owns it, or it is over. */
  claim(evaluation: EvaluationId, owner: OwnerId, milliseconds: number): Promise<Ownership | undefined>;

  /** Extends the ownership to `milliseconds` from now. @throws OwnershipLostError */
  renew(ownership: Ownership, milliseconds: number): Promise<Renewal>;

  /** Ends the ownership at once, so that others can claim the evaluation. Has no effect when it is lost. */
  release(ownership: Ownership): Promise<void>;
}
