import type { LeaseId, SandboxId } from '../../kernel/ids.ts';
import type { PastExposure } from '../ports/exposure.ts';

/**
 * The life of a sandbox in the pool:
 *
 *      creating ─▶ warming ─▶ idle ◀──▶ leased
 *          │          │        │          │
 *          └──────────┴────────┴──────────┴──▶ destroying ─▶ gone
 *
 * - **creating**: entered before the provider is called, so that every creation is on record. Ends in `warming` when the provider
 *    returns the sandbox, in `destroying` when it fails, is late or is no longer wanted.
 * - **warming**: the program runs and its occupant becomes ready. Ends in `idle` when it is, in `destroying` when it fails, is
 *    late, the program ends, or it is no longer wanted.
 * - **idle**: ready and not leased. Pinged at every heartbeat unless it is paused. Ends in `leased` when it is granted, in `destroying` when it dies,
 *    does not answer, is worn out, has not been needed for long, or has a past that keeps it from serving those who wait for its room.
 * - **leased**: held by one holder, until a time that the holder can extend. Ends in `idle` when the holder releases it in good order; in
 *    `destroying` when the holder discards it, the lease expires (its holder may still use it), it dies, or the pool closes.
 * - **destroying**: entered before anything is removed, and still counted towards the maximum, as it still takes up room. Never
 *    reversed. Ends when the provider reports that nothing is left, or when destroying has failed for good.
 * - gone: removed from the records. There is no state for it.
 */
export type SandboxState = ComingState | IdleState | LeasedState | DestroyingState;

export interface ComingState {
  readonly kind: 'creating' | 'warming';
}

export interface IdleState {
  readonly kind: 'idle';
  readonly since: number;
  /** The time at which it last showed that it is alive. */
  readonly answeredAt: number;
  /** The time at which the unanswered ping was sent. */
  readonly pingedAt: number | undefined;
  /** It is suspended until it is needed, and answers no pings. */
  readonly isResting?: boolean;
}

export interface LeasedState {
  readonly kind: 'leased';
  readonly lease: LeaseId;
  readonly generation: number;
  readonly expiresAt: number;
}

export interface DestroyingState {
  readonly kind: 'destroying';
  readonly reason: string;
}

export type SandboxStateKind = SandboxState['kind'];

/** What the planner sees of a sandbox. */
export interface SandboxObservation {
  readonly id: SandboxId;
  readonly state: SandboxState;
  /** Episodes played in it so far. */
  readonly episodes: number;
  /** The exposures of the evaluations that it has served. */
  readonly past: PastExposure;
}

const NEXT: Readonly<Record<SandboxStateKind, readonly SandboxStateKind[]>> = {
  creating: ['warming', 'destroying'],
  warming: ['idle', 'destroying'],
  idle: ['idle', 'leased', 'destroying'],
  leased: ['idle', 'leased', 'destroying'],
  destroying: [],
};

export function canFollow(from: SandboxStateKind, to: SandboxStateKind): boolean {
  return NEXT[from].includes(to);
}
