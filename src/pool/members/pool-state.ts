import type { PoolPhase } from '../planning/plan-terms.ts';
import type { LostSandbox } from './lost-sandboxes.ts';
import type { SandboxCounts } from './members.ts';
import type { Obstacle } from '../ports/sandbox.ts';
import type { Isolation } from '../ports/template.ts';

/** A summary of the pool for progress displays and results. Cheap to read. */
export interface PoolState {
  readonly phase: PoolPhase;
  /** Sandboxes now, by state. */
  readonly sandboxes: SandboxCounts;
  /** The sandboxes that were lost within the last minute, at most the latest fifty. */
  readonly lost?: readonly LostSandbox[];
  /** Requests for a lease that are waiting. */
  readonly waiting: number;
  readonly totals: PoolTotals;
  /** Obstacles that currently keep sandboxes from becoming ready. */
  readonly obstacles?: readonly Obstacle[];
  /** The enforced limits of these sandboxes; known once the pool has started. */
  readonly isolation: Isolation | undefined;
  /** Sandboxes of earlier processes that the sweep at the start removed; known once the pool has started. */
  readonly swept: number | undefined;
  /** The latest errors, for people. They stay after the problem has passed. */
  readonly lastErrors: {
    readonly creation: string | undefined;
    readonly destruction: string | undefined;
    readonly sweep: string | undefined;
  };
}

/** Counted since the pool was made. */
export interface PoolTotals {
  /** Sandboxes that the provider made. */
  readonly created: number;
  /** The number of them that are known to be destroyed. */
  readonly destroyed: number;
  /** Sandboxes that did not become ready, made or not. */
  readonly failed: number;
  /** Sandboxes that were ready and died, or stopped answering their heartbeat. */
  readonly died: number;
  /** Sandboxes that could not be destroyed and were left to a later sweep. */
  readonly abandoned: number;
  readonly leases: number;
  /** Leases that ended without their holder's consent. */
  readonly revoked: number;
}

/** Merges two pools' states into one. */
export function mergeStates(one: PoolState, other: PoolState): PoolState {
  const lost = [...(one.lost ?? []), ...(other.lost ?? [])];
  const obstacles = [...(one.obstacles ?? []), ...(other.obstacles ?? [])];
  return {
    phase: one.phase === 'open' ? other.phase : one.phase,
    sandboxes: {
      creating: one.sandboxes.creating + other.sandboxes.creating,
      warming: one.sandboxes.warming + other.sandboxes.warming,
      idle: one.sandboxes.idle + other.sandboxes.idle,
      leased: one.sandboxes.leased + other.sandboxes.leased,
      destroying: one.sandboxes.destroying + other.sandboxes.destroying,
    },
    waiting: one.waiting + other.waiting,
    totals: {
      created: one.totals.created + other.totals.created,
      destroyed: one.totals.destroyed + other.totals.destroyed,
      failed: one.totals.failed + other.totals.failed,
      died: one.totals.died + other.totals.died,
      abandoned: one.totals.abandoned + other.totals.abandoned,
      leases: one.totals.leases + other.totals.leases,
      revoked: one.totals.revoked + other.totals.revoked,
    },
    ...(lost.length > 0 && { lost }),
    ...(obstacles.length > 0 && { obstacles }),
    isolation: one.isolation ?? other.isolation,
    swept: one.swept === undefined ? other.swept : one.swept + (other.swept ?? 0),
    lastErrors: {
      creation: one.lastErrors.creation ?? other.lastErrors.creation,
      destruction: one.lastErrors.destruction ?? other.lastErrors.destruction,
      sweep: one.lastErrors.sweep ?? other.lastErrors.sweep,
    },
  };
}

/** The state of a pool that has not been used yet. */
export const NOTHING_MADE: PoolState = {
  phase: 'open',
  sandboxes: { creating: 0, warming: 0, idle: 0, leased: 0, destroying: 0 },
  waiting: 0,
  totals: { created: 0, destroyed: 0, failed: 0, died: 0, abandoned: 0, leases: 0, revoked: 0 },
  isolation: undefined,
  swept: undefined,
  lastErrors: { creation: undefined, destruction: undefined, sweep: undefined },
};
