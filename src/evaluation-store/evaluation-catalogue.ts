import type { Digest, EvaluationId } from '../kernel/ids.ts';
import type { EvaluationState, NewEvaluation, StoredEvaluation } from './evaluation-record.ts';
import type { Page, PageRequest } from './paging.ts';

/** A caller's own name for a request. Repeating a request with the same name has no further effect. */
export interface Idempotency {
  /** Unique for its principal. */
  readonly key: string;
  /** Digest of the request's content. */
  readonly fingerprint: Digest;
}

export type Acceptance =
  /** The evaluation is durable and waits for an owner. */
  | { readonly kind: 'accepted'; readonly evaluation: StoredEvaluation }
  /** The same request was accepted before, as this evaluation. */
  | { readonly kind: 'repeated'; readonly evaluation: StoredEvaluation }
  /** The key belongs to another request. */
  | { readonly kind: 'conflict'; readonly evaluation: StoredEvaluation };

/** The result for a request whose key was known already. */
export type EarlierAcceptance = Exclude<Acceptance, { readonly kind: 'accepted' }>;

/** An evaluation must match every part that is given. */
export interface EvaluationFilter {
  readonly principal?: string | undefined;
  readonly suite?: string | undefined;
  readonly run?: string | undefined;
  readonly states?: readonly EvaluationState[] | undefined;
  readonly label?: { readonly name: string; readonly value: string } | undefined;
  /** Accepted at this time or later … */
  readonly from?: Date | undefined;
  /** … and before this one. */
  readonly before?: Date | undefined;
}

/** Evaluations: the request, its principal and the outcome. */
export interface EvaluationCatalogue {
  /** Durable once it resolves. Of two requests with the same key, one is accepted. */
  accept(evaluation: NewEvaluation, idempotency?: Idempotency): Promise<Acceptance>;

  /** Finds the result that `accept` would give for this key, without accepting anything; undefined when it would accept. */
  findEarlier(principal: string, idempotency: Idempotency): Promise<EarlierAcceptance | undefined>;

  find(id: EvaluationId): Promise<StoredEvaluation | undefined>;

  /** Returns those of the evaluations that are over, or missing. */
  findOver(ids: readonly EvaluationId[]): Promise<readonly EvaluationId[]>;

  /**
   * Lists the latest first. Evaluations that are accepted meanwhile neither repeat an item on a later page nor hide one.
   *
   * @throws InputError `cursor.invalid`.
   */
  list(filter: EvaluationFilter, page: PageRequest): Promise<Page<StoredEvaluation>>;

  /**
   * Asks the owner to cancel the evaluation: the present one at its next renewal, or the next owner.
   *
   * @returns the evaluation as it is now, over or not; undefined when there is none.
   */
  requestCancel(id: EvaluationId): Promise<StoredEvaluation | undefined>;

  /**
   * Removes evaluations that ended before a time, and all that belongs to them, oldest first.
   *
   * @returns how many were removed: fewer than `limit` when none is left.
   */
  forgetEnded(before: Date, limit: number): Promise<number>;
}
