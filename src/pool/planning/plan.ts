import type { SandboxId } from '../../kernel/ids.ts';
import { Agenda, type Census, type IdleSandbox } from './agenda.ts';
import { computeBackoffMs } from './backoff.ts';
import { SandboxShelves } from './sandbox-shelves.ts';
import type { PoolConfig } from './pool-config.ts';
import type { IdleState, LeasedState, SandboxObservation } from './sandbox-state.ts';
import type { CreationObservation, DestroyReason, PoolAction, PoolObservation, PoolPhase, WaiterObservation } from './plan-terms.ts';
import { findNextTokenTime, countTokensAt, type TokenRate } from './token-bucket.ts';

/**
 * Decides what the pool does now. Pure: equal observations give equal actions. Takes one pass over sandboxes and waiters.
 *
 * Ends come first, so that nothing is granted that is about to end. Grants come before sizing, so that no sandbox is created for a waiter
 * that can be served, and none is retired that could serve. Sandboxes that are then still idle are pinged.
 */
export function plan(pool: PoolObservation, now: number): PoolAction[] {
  const agenda = new Agenda();
  const census = inspect(pool, now, agenda);
  const waiting = isOpen(pool.phase) ? grant(pool, census, now, agenda) : refuseAll(pool, agenda);
  if (isOpen(pool.phase)) {
    const target = computeTargetSize(pool.config, census.leased + waiting.length);
    const missing = listMissing(waiting, census, target);
    const created = pool.phase === 'open' ? create(pool, census, missing, now, agenda) : 0;
    const surplus = countPresent(census) + created - target;
    if (surplus > 0) retire(pool.config, census, surplus, now, agenda);
    for (const sandbox of census.idle) if (!pauseIdle(pool.config, sandbox, now, agenda)) keepHeartbeat(pool.config, sandbox, now, agenda);
  }
  return agenda.finish();
}

/** Returns the rate of creations; at most one second's worth starts at once. */
export function getCreationRate(config: PoolConfig): TokenRate {
  return { perSecond: config.creationsPerSecond, burst: Math.max(1, Math.min(config.creationConcurrency, config.creationsPerSecond)) };
}

/** Whether a sandbox has played its maximum of episodes. */
export function hasPlayedEnough(sandbox: SandboxObservation, config: PoolConfig): boolean {
  return sandbox.episodes >= config.episodesPerSandbox;
}

function isOpen(phase: PoolPhase): boolean {
  return phase === 'starting' || phase === 'open';
}

/** The size follows the demand: one sandbox for each lease and each waiting request, and some in reserve, within the bounds. */
function computeTargetSize(config: PoolConfig, demand: number): number {
  return Math.min(config.max, Math.max(config.min, demand + config.warm));
}

function countPresent(census: Census): number {
  return census.coming.length + census.leased + census.idle.length;
}

function inspect(pool: PoolObservation, now: number, agenda: Agenda): Census {
  const census: Census = { coming: [], leased: 0, idle: [], ending: 0 };
  for (const sandbox of pool.sandboxes) {
    const { id, state } = sandbox;
    switch (state.kind) {
      case 'creating':
      case 'warming':
        if (isOpen(pool.phase)) census.coming.push({ id, past: sandbox.past });
        else end(id, 'closed', census, agenda);
        break;
      case 'idle': {
        const why = findReasonToEnd(pool, sandbox, state, now);
        if (why === undefined) census.idle.push({ id, state, past: sandbox.past });
        else end(id, why, census, agenda);
        break;
      }
      case 'leased':
        inspectLease(pool.phase, id, state, now, census, agenda);
        break;
      case 'destroying':
        census.ending++;
        break;
    }
  }
  return census;
}

function end(sandbox: SandboxId, why: DestroyReason, census: Census, agenda: Agenda): void {
  census.ending++;
  agenda.add({ kind: 'destroy', sandbox, why });
}

function findReasonToEnd(pool: PoolObservation, sandbox: SandboxObservation, state: IdleState, now: number): DestroyReason | undefined {
  if (!isOpen(pool.phase)) return 'closed';
  if (hasPlayedEnough(sandbox, pool.config)) return 'worn-out';
  if (state.pingedAt !== undefined && now >= state.pingedAt + pool.config.heartbeatSeconds * 1000) return 'silent';
  return undefined;
}

function inspectLease(phase: PoolPhase, sandbox: SandboxId, state: LeasedState, now: number, census: Census, agenda: Agenda): void {
  const expired = now >= state.expiresAt;
  if (phase === 'closing' || expired) {
    census.ending++;
    agenda.add({ kind: 'revoke', sandbox, lease: state.lease, loss: expired ? 'expired' : 'pool-disposed' });
  } else {
    census.leased++;
    agenda.remember(state.expiresAt);
  }
}

/**
 * Serves the waiters, longest waiting first. Each gets a sandbox that may serve it, or else claims one that is being created or that there
 * is room for. In a full pool the longest idle sandbox is destroyed for it, before a later waiter can take that sandbox. A waiter that
 * cannot be served is refused.
 *
 * @returns the waiters that are left.
 */
function grant(pool: PoolObservation, census: Census, now: number, agenda: Agenda): readonly WaiterObservation[] {
  const { config } = pool;
  const waiting = [...pool.waiting];
  if (waiting.length === 0) return [];
  // Takes the most recently used one first, so that surplus sandboxes stay idle and expire.
  const idle = new SandboxShelves(census.idle.toSorted((a, b) => a.state.since - b.state.since));
  const left: WaiterObservation[] = [];
  let room = config.max - census.leased - census.idle.length;
  for (const waiter of waiting) {
    const sandbox = idle.isEmpty ? undefined : idle.take(waiter.wanted);
    if (sandbox !== undefined) {
      agenda.add({ kind: 'grant', waiter: waiter.id, sandbox: sandbox.id });
      agenda.remember(now + config.leaseSeconds * 1000);
      census.leased++;
    } else if (isWaitingInVain(waiter, pool.creation, config, census)) {
      agenda.add({ kind: 'refuse', waiter: waiter.id, why: 'creation-failed' });
    } else {
      left.push(waiter);
      const unfit = room > 0 ? undefined : idle.takeFirst();
      if (unfit) end(unfit.id, 'unfit', census, agenda);
      room--;
    }
  }
  census.idle = idle.listRemaining();
  return left;
}

/**
 * Whether a waiter should be refused. With no sandbox that is being created or may be given back, and creations that fail repeatedly or for
 * a lasting reason, this applies to every waiter that has seen the latest failure. A waiter that arrived after it gets its own attempt.
 */
function isWaitingInVain(waiter: WaiterObservation, creation: CreationObservation, config: PoolConfig, census: Census): boolean {
  const isHopeless = creation.isHopeless || creation.failures >= config.maxCreationFailures;
  const mayBeGivenBack = census.leased > 0 && config.oneHolder !== true;
  return isHopeless && !mayBeGivenBack && census.coming.length === 0 && waiter.since < creation.failedAt;
}

function refuseAll(pool: PoolObservation, agenda: Agenda): readonly WaiterObservation[] {
  for (const { id } of pool.waiting) agenda.add({ kind: 'refuse', waiter: id, why: 'closed' });
  return [];
}

/**
 * Lists the principals to create sandboxes for: first those of waiters that no existing or coming sandbox can serve, longest waiting first; then any
 * principal (undefined), up to the target.
 */
function listMissing(waiting: readonly WaiterObservation[], census: Census, target: number): readonly (string | undefined)[] {
  const coming = new SandboxShelves(census.coming);
  const without = waiting.filter(({ wanted }) => coming.isEmpty || coming.take(wanted) === undefined).map(({ wanted }) => wanted.principal);
  const spare = Math.max(0, target - countPresent(census) - without.length);
  return [...without, ...Array.from({ length: spare }, () => undefined)];
}

/**
 * Creates what is missing within the maximum, concurrency and rate. After a failure, one creation at a time probes the provider, each after
 * a longer pause, until a sandbox becomes ready.
 *
 * @param missing audiences, most urgent first. @returns how many it creates.
 */
function create(pool: PoolObservation, census: Census, missing: readonly (string | undefined)[], now: number, agenda: Agenda): number {
  const { config, creation } = pool;
  const slots = (creation.failures > 0 ? 1 : config.creationConcurrency) - census.coming.length;
  const room = config.max - countPresent(census) - census.ending;
  const wanted = Math.min(missing.length, slots, room);
  if (wanted <= 0) return 0;
  const pauseEnds = Math.max(creation.failedAt + computeBackoffMs(creation.failures), creation.pausedUntil);
  if (now < pauseEnds) {
    agenda.remember(pauseEnds);
    return 0;
  }
  const { rate } = creation;
  const allowed = countTokensAt(creation.bucket, rate, now);
  const count = Math.min(wanted, allowed);
  if (count > 0) agenda.add({ kind: 'create', audiences: missing.slice(0, count) });
  if (wanted > allowed) agenda.remember(findNextTokenTime(creation.bucket, rate, now));
  return count;
}

/** Ends surplus sandboxes that have been idle for long, longest idle first. */
function retire(config: PoolConfig, census: Census, surplus: number, now: number, agenda: Agenda): void {
  const longestIdleFirst = census.idle.sort((a, b) => a.state.since - b.state.since);
  let retired = 0;
  for (const { id, state } of longestIdleFirst.slice(0, surplus)) {
    const due = state.since + config.idleSeconds * 1000;
    if (now < due) {
      agenda.remember(due);
      break;
    }
    end(id, 'surplus', census, agenda);
    retired++;
  }
  census.idle = longestIdleFirst.slice(retired);
}

/** Pauses a sandbox that has been idle for a while and owes no answer. @returns whether it did. */
function pauseIdle({ restSeconds }: PoolConfig, { id, state }: IdleSandbox, now: number, agenda: Agenda): boolean {
  if (restSeconds === undefined || state.isResting === true) return state.isResting === true;
  const due = state.since + restSeconds * 1000;
  if (now < due) agenda.remember(due);
  if (now < due || state.pingedAt !== undefined) return false;
  agenda.add({ kind: 'rest', sandbox: id });
  return true;
}

function keepHeartbeat(config: PoolConfig, sandbox: IdleSandbox, now: number, agenda: Agenda): void {
  const { answeredAt, pingedAt } = sandbox.state;
  const intervalMs = config.heartbeatSeconds * 1000;
  const due = (pingedAt ?? answeredAt) + intervalMs;
  if (now < due) return agenda.remember(due);
  agenda.add({ kind: 'ping', sandbox: sandbox.id });
  agenda.remember(now + intervalMs);
}
