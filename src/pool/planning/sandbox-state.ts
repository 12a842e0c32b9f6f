import type { LeaseId, SandboxId } from '../../kernel/ids.ts';
import type { PastExposure } from '../ports/exposure.ts';

/**
 * The life of a sandbox in the pool:
 *
 *     creating ─▶ warming ─▶ idle ◀──▶ leased
 *         │          │        │          │
 *         └──────────┴────────┴──────────┴──▶ destroying ─▶ gone
 *
 * - **creating**: entered before the provider is asked, so that a creation under way is always on record. Left for `warming` when
 *   the provider hands over the sandbox, for `destroying` when it fails, is late or is no longer wanted.
 * - **warming**: the program runs and its occupant gets ready. Left for `idle` when it is, for `destroying` when it fails, is
 *   late, the program ends, or it is no longer wanted.
 * - **idle**: ready and not leased. Pinged at every heartbeat, unless it is paused. Left for `leased` when it is granted, for `destroying` when it dies,
 *   does not answer, is worn out, has not been needed for long, or has a past that keeps it from those who wait for its room.
 * - **leased**: one holder's, until a time that the holder can move. Left for `idle` when the holder releases it in good order; for
 *   `destroying` when the holder discards it, the lease expires (its holder may still be speaking to it), it dies, or the pool closes.
 * - **destroying**: entered before anything is taken down, and still counted against the maximum, for it still takes up room. Nothing
 *   leads back. Left when the provider says that nothing is left of it, or when destroying it has failed for good.
 * - gone: off the books. There is no state for it.
 */
export type SandboxState = ComingState | IdleState | LeasedState | DestroyingState;

export interface ComingState {
  readonly kind: 'creating' | 'warming';
}

export interface IdleState {
  readonly kind: 'idle';
  readonly since: number;
  /** When it last showed that it lives. */
  readonly answeredAt: number;
  /** When the ping was sent that it has not answered yet. */
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
