import type { LeaseId, SandboxId } from '../../kernel/ids.ts';
import type { Exposure } from '../ports/exposure.ts';
import type { PoolConfig } from './pool-config.ts';
import type { SandboxObservation } from './sandbox-state.ts';
import type { TokenBucket, TokenRate } from './token-bucket.ts';

/**
 * - `starting`: waits for the provider's description and sweep; creates nothing yet.
 * - `open`: the normal state.
 * - `draining`: grants and creates nothing more; leased sandboxes finish.
 * - `closing`: everything ends now.
 */
export type PoolPhase = 'starting' | 'open' | 'draining' | 'closing';

export interface WaiterObservation {
  readonly id: number;
  readonly since: number;
  /** The exposure that the waiter would bring into the sandbox. */
  readonly wanted: Exposure;
}

export interface CreationObservation {
  readonly bucket: TokenBucket;
  /** How fast the bucket fills: the configuration's rate, or less while the provider's service is busy. */
  readonly rate: TokenRate;
  /** The service accepts no creations before this time. */
  readonly pausedUntil: number;
  /** Rounds of creation that failed since a sandbox last became ready. */
  readonly failures: number;
  /** The time at which the latest of these rounds failed; −∞ before the first. */
  readonly failedAt: number;
  /** The last failure will not pass by itself. */
  readonly isHopeless: boolean;
}

export interface PoolObservation {
  readonly config: PoolConfig;
  readonly phase: PoolPhase;
  readonly sandboxes: Iterable<SandboxObservation>;
  /** Longest waiting first. */
  readonly waiting: Iterable<WaiterObservation>;
  readonly creation: CreationObservation;
}

export type PoolAction =
  /** The lease ends without its holder's consent, and its sandbox with it. */
  | { readonly kind: 'revoke'; readonly sandbox: SandboxId; readonly lease: LeaseId; readonly loss: 'expired' | 'pool-disposed' }
  /** Destroys a sandbox, or abandons its creation. */
  | { readonly kind: 'destroy'; readonly sandbox: SandboxId; readonly why: DestroyReason }
  | { readonly kind: 'grant'; readonly waiter: number; readonly sandbox: SandboxId }
  | { readonly kind: 'refuse'; readonly waiter: number; readonly why: 'closed' | 'creation-failed' }
  /** One sandbox for each entry: for that principal, or for any. */
  | { readonly kind: 'create'; readonly audiences: readonly (string | undefined)[] }
  | { readonly kind: 'ping'; readonly sandbox: SandboxId }
  | { readonly kind: 'rest'; readonly sandbox: SandboxId }
  /** Plan again at this time unless something happens before. At most one a plan. */
  | { readonly kind: 'wake'; readonly at: number };

/**
 * `silent`: did not answer its heartbeat in time. `worn-out`: has played its episodes. `surplus`: not needed for long. `unfit`: its past
 * keeps it from serving the waiters, and its room is needed for a sandbox that can.
 */
export type DestroyReason = 'closed' | 'silent' | 'worn-out' | 'surplus' | 'unfit';

/** Describes why a sandbox is destroyed, for people. */
export function describeDestruction(why: Exclude<DestroyReason, 'silent'>, episodes: number, idleSeconds: number): string {
  switch (why) {
    case 'closed':
      return 'the pool was closed';
    case 'worn-out':
      return `it has played ${episodes} episodes`;
    case 'surplus':
      return `it was not needed for ${idleSeconds} s`;
    case 'unfit':
      return 'what has been in it must not meet what the waiting callers bring';
  }
}
