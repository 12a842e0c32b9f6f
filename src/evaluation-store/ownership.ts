import { InfrastructureError } from '../kernel/errors.ts';
import type { EvaluationId, OwnerId } from '../kernel/ids.ts';

/**
 * The exclusive, expiring right to play an evaluation. Every write of an owner carries it and is refused once another has claimed the
 * evaluation, however late it arrives. An owner that is only late, and not replaced, may go on.
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
  /** A caller wants it cancelled; its owner has to do so. */
  readonly cancelRequested: boolean;
}

/** Another process has claimed the evaluation. The receiver stops playing it, and writes nothing more of it. */
export class OwnershipLostError extends InfrastructureError {
  constructor({ evaluation, owner }: Ownership) {
    super(
      'store.ownership-lost',
      `evaluation ${evaluation} is no longer ${owner}'s: its ownership had expired, and another Muster took it over`,
    );
  }
}

/**
 * Who plays which evaluation. Times are those of the Muster's clock: fencing is safe whatever they are, only the take-over may be late or early. Where no
 * two processes can have a store open, nothing is owned when it is opened.
 */
export interface Ownerships {
  /**
   * Evaluations that are not over and have no owner, or one whose time has passed. Principals take turns: the first of each, then the second
   * of each, …; those of one principal come by falling priority, then by age. So every principal with something to claim is seen, however much
   * others have.
   */
  listClaimable(limit: number): Promise<readonly Claimable[]>;

  /** @returns undefined when another has it, or it is over. */
  claim(evaluation: EvaluationId, owner: OwnerId, milliseconds: number): Promise<Ownership | undefined>;

  /** From now on for so long. @throws OwnershipLostError */
  renew(ownership: Ownership, milliseconds: number): Promise<Renewal>;

  /** Gives it up at once, for others to claim. Nothing happens when it is lost. */
  release(ownership: Ownership): Promise<void>;
}
