import PQueue from 'p-queue';
import type { AuditTrail } from '../../evaluation-store/audit-trail.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import type { SandboxUsage } from '../../kernel/sandbox-usage.ts';
import type { PoolSize } from '../../pool/planning/pool-config.ts';
import type { PoolState } from '../../pool/members/pool-state.ts';
import { createUnbounded, type EpisodeBounds } from '../playing/episode-bounds.ts';
import { Slots } from '../playing/slots.ts';
import { type PoolUsage, PoolUsageMeter } from './pool-usage.ts';

/** The pools of this process: one for each template. */
export interface ManagedPools {
  readonly templates: readonly string[];
  getProvider(template: string): string;
  /** Returns how large it is when it does not drain. */
  getSize(template: string): PoolSize;
  /** @param drains whether it keeps no sandboxes, whatever its size. */
  resize(template: string, size: PoolSize, drains: boolean): void;
  /** Returns undefined before the pool is first needed. */
  getState(template: string): PoolState | undefined;
  /** Reads the usage of each measured sandbox, by its id. Never rejects. */
  readUsage(template: string): Promise<ReadonlyMap<string, SandboxUsage>>;
}

export interface PoolReport extends PoolSize {
  readonly name: string;
  readonly provider: string;
  /** True when nothing is played on it, and it keeps no sandboxes. */
  readonly draining: boolean;
  /** Sandboxes that evaluations need and do not have: they wait for their share of the pool, or for the pool. */
  readonly waiting: number;
  readonly state: PoolState | undefined;
  /** It is undefined where it is not measured, and before the first measurement. */
  readonly usage: PoolUsage | undefined;
}

export interface PoolChange extends Partial<PoolSize> {
  readonly draining?: boolean;
}

/**
 * Shows, scales and drains pools, and divides their sandboxes between evaluations. A draining pool gives no slots: work under way is finished,
 * evaluations wait, and sandboxes end as they become idle.
 */
export class PoolService {
  readonly #pools: ManagedPools;
  readonly #audit: Pick<AuditTrail, 'record'>;
  readonly #clock: Clock;
  readonly #bounds: EpisodeBounds;
  readonly #slots = new Map<string, Slots>();
  /** One after the other: each changes the result of the previous one, and the audit takes time. */
  readonly #changes = new PQueue({ concurrency: 1 });
  readonly #draining = new Set<string>();
  readonly #meters = new Map<string, PoolUsageMeter>();

  /** @param bounds what principals may have over all pools. */
  constructor(pools: ManagedPools, audit: Pick<AuditTrail, 'record'>, clock: Clock, bounds: EpisodeBounds = createUnbounded()) {
    this.#bounds = bounds;
    this.#pools = pools;
    this.#audit = audit;
    this.#clock = clock;
  }

  getSlots(template: string): Slots {
    const known = this.#slots.get(template) ?? new Slots(this.#pools.getSize(template).max, this.#clock, this.#bounds);
    this.#slots.set(template, known);
    return known;
  }

  /** Counts the episodes of a principal that are played now, over all pools. */
  countPlayed(principal: string): number {
    return this.#bounds.countPlayed(principal);
  }

  list(): readonly PoolReport[] {
    return this.#pools.templates.map((name) => this.#buildReport(name));
  }

  /**
   * Applies until the end of this process; the next one begins with the configuration.
   *
   * @param principal who requested it, for the audit. @throws InputError `pool.not-found`, `pool.size`.
   */
  change(name: string, change: PoolChange, principal: string): Promise<PoolReport> {
    return this.#changes.add(() => this.#change(name, change, principal));
  }

  async #change(name: string, { draining, ...sizes }: PoolChange, principal: string): Promise<PoolReport> {
    if (!this.#pools.templates.includes(name))
      throw new InputError('pool.not-found', `there is no pool ${name}; the templates are ${this.#pools.templates.join(', ')}`);
    const before = this.#buildReport(name);
    const after = { min: before.min, max: before.max, warm: before.warm, ...dropUndefined(sizes) };
    assertSize(after);
    const drains = draining ?? before.draining;
    const action = drains === before.draining ? 'pool.scale' : drains ? 'pool.drain' : 'pool.resume';
    await this.#audit.record({
      principal,
      action,
      target: name,
      details: { before: formatSize(before), after: { ...after, draining: drains } },
    });
    this.#apply(name, after, drains);
    return this.#buildReport(name);
  }

  #apply(name: string, size: PoolSize, drains: boolean): void {
    if (drains) this.#draining.add(name);
    else this.#draining.delete(name);
    this.#pools.resize(name, size, drains);
    this.getSlots(name).resize(drains ? 0 : size.max);
  }

  #getMeter(name: string): PoolUsageMeter {
    const known = this.#meters.get(name) ?? new PoolUsageMeter(() => this.#pools.readUsage(name), this.#clock);
    this.#meters.set(name, known);
    return known;
  }

  #buildReport(name: string): PoolReport {
    const state = this.#pools.getState(name);
    const waiting = (this.#slots.get(name)?.waiting ?? 0) + (state?.waiting ?? 0);
    const usage = state && this.#getMeter(name).latest;
    const provider = this.#pools.getProvider(name);
    return { name, provider, ...this.#pools.getSize(name), draining: this.#draining.has(name), waiting, state, usage };
  }
}

function formatSize({ min, max, warm, draining }: PoolReport): object {
  return { min, max, warm, draining };
}

function dropUndefined(sizes: Partial<PoolSize>): Partial<PoolSize> {
  return Object.fromEntries(Object.entries(sizes).filter(([, value]) => value !== undefined));
}

function assertSize({ min, max, warm }: PoolSize): void {
  const wrong = [
    ['min', min],
    ['warm', warm],
  ] as const;
  for (const [name, value] of wrong)
    if (value > max) throw new InputError('pool.size', `${name}: expected no more than max, which is ${max}, got ${value}`);
}
