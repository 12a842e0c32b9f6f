import type { Digest, EvaluationId } from '../kernel/ids.ts';
import type { EvaluationState, NewEvaluation, StoredEvaluation } from './evaluation-record.ts';
import type { Page, PageRequest } from './paging.ts';

/** A caller's own name for a request: sent again with the same name, it is the same request. */
export interface Idempotency {
  /** Unique for its principal. */
  readonly key: string;
  /** Of the request's content. */
  readonly fingerprint: Digest;
}

export type Acceptance =
  /** It is durable, and waits for an owner. */
  | { readonly kind: 'accepted'; readonly evaluation: StoredEvaluation }
  /** The same request was accepted before, as this evaluation. */
  | { readonly kind: 'repeated'; readonly evaluation: StoredEvaluation }
  /** The key belongs to another request. */
  | { readonly kind: 'conflict'; readonly evaluation: StoredEvaluation };

/** What became of a request whose key was there already. */
export type EarlierAcceptance = Exclude<Acceptance, { readonly kind: 'accepted' }>;

/** Every part that is given must hold. */
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

/** Evaluations: what was asked for, by which principal, and the outcome. */
export interface EvaluationCatalogue {
  /** Durable once it resolves; of two requests with one key, one is accepted. */
  accept(evaluation: NewEvaluation, idempotency?: Idempotency): Promise<Acceptance>;

  /** What `accept` would say of a request with this key, without accepting it; undefined when it would be accepted. */
  findEarlier(principal: string, idempotency: Idempotency): Promise<EarlierAcceptance | undefined>;

  find(id: EvaluationId): Promise<StoredEvaluation | undefined>;

  /** Which of these evaluations are over, or missing. */
  findOver(ids: readonly EvaluationId[]): Promise<readonly EvaluationId[]>;

  /**
   * Latest first. What is accepted meanwhile neither repeats an item on a later page nor hides one.
   *
   * @throws InputError `cursor.invalid`.
   */
  list(filter: EvaluationFilter, page: PageRequest): Promise<Page<StoredEvaluation>>;

  /**
   * Tells the owner, at its next renewal, or the next one, to cancel it.
   *
   * @returns the evaluation as it is now, over or not; undefined when there is none.
   */
  requestCancel(id: EvaluationId): Promise<StoredEvaluation | undefined>;

  /**
   * Removes evaluations that were over before a time, with all that belongs to them; oldest first.
   *
   * @returns how many were removed: fewer than `limit` when none is left.
   */
  forgetEnded(before: Date, limit: number): Promise<number>;
}
