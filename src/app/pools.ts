import type { SandboxUsage } from '../kernel/sandbox-usage.ts';
import { suggestNames } from '../kernel/documents/did-you-mean.ts';
import { randomBytes } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { TemplateConfig } from '../config/schema.ts';
import { raceWithAbort } from '../kernel/abort.ts';
import type { Clock } from '../kernel/clock.ts';
import { InputError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { parseOwnerId, parseSandboxId } from '../kernel/ids.ts';
import { Pool } from '../pool/pool.ts';
import type { PolicyPlacement } from '../pool/ports/policy-apart.ts';
import type { PoolConfig, PoolSize } from '../pool/planning/pool-config.ts';
import { mergeStates, type PoolState } from '../pool/members/pool-state.ts';
import type { SandboxProvider } from '../pool/ports/sandbox.ts';
import type { SharedContent, Sharing } from '../pool/ports/shared-content.ts';
import type { Isolation, SandboxTemplate } from '../pool/ports/template.ts';
import type { Allowance, ProviderHost } from '../pool/ports/provider-plugin.ts';
import { PACKAGE_ROOT } from '../kernel/package-root.ts';
import { getPlugin } from './sandboxes/providers.ts';
import { sweepLeftovers } from './sandboxes/sweep.ts';
import { RunnerSession } from '../runner/session.ts';

const PLACEMENTS = ['together', 'apart'] as const satisfies readonly PolicyPlacement[];

const NONE: PoolSize = { min: 0, max: 0, warm: 0 };

/** Sandboxes of a template that play policies in one way. */
export interface PoolName {
  readonly template: string;
  readonly policy: PolicyPlacement;
}

interface OpenPool {
  readonly pool: Pool<RunnerSession>;
  readonly made: SandboxTemplate;
}

/**
 * The sandboxes of one Muster: a pool for each requested template, opened when it is first needed, and a second one where the template's policies are
 * played in both ways. Part of the composition root.
 */
export class Pools implements AsyncDisposable {
  readonly #config: Config;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #owner = parseOwnerId(`muster-${process.pid}-${randomBytes(4).toString('hex')}`);
  readonly #providers = new Map<string, Promise<SandboxProvider>>();
  readonly #made = { together: new Map<string, Promise<SandboxTemplate>>(), apart: new Map<string, Promise<SandboxTemplate>>() };
  readonly #pools = { together: new Map<string, Promise<OpenPool>>(), apart: new Map<string, Promise<OpenPool>>() };
  readonly #open = { together: new Map<string, Pool<RunnerSession>>(), apart: new Map<string, Pool<RunnerSession>>() };
  readonly #sizes = new Map<string, PoolSize>();
  readonly #draining = new Set<string>();
  readonly #closing = new AbortController();
  #sweeping: Promise<unknown> = Promise.resolve();
  #sandboxes = 0;

  constructor(config: Config, clock: Clock, log: Log) {
    this.#config = config;
    this.#clock = clock;
    this.#log = log;
  }

  /** @throws InputError `template.unknown` when the configuration has no template of this name. */
  getSettings(template: string): TemplateConfig {
    const { templates } = this.#config;
    const settings = Object.hasOwn(templates, template) ? templates[template] : undefined;
    if (settings) return settings;
    const known = Object.keys(templates).join(', ');
    throw new InputError(
      'template.unknown',
      `the suite's template "${template}" is not in the configuration; it has ${known}${suggestNames(template, Object.keys(templates))}`,
    );
  }

  get templates(): readonly string[] {
    return Object.keys(this.#config.templates);
  }

  getProvider(template: string): string {
    return this.getSettings(template).provider;
  }

  /** Returns the pool's size when it does not drain: an evaluation that begins during draining plays on this many sandboxes afterwards. */
  getSize(template: string): PoolSize {
    const { min, max, warm } = this.#sizes.get(template) ?? this.#config.pool;
    const most = Math.min(max, this.#getAllowance(template).max ?? max);
    return { min: Math.min(min, most), max: most, warm: Math.min(warm, most) };
  }

  /** Changes the size until the end of this process. @param drains whether it keeps no sandboxes, whatever its size. */
  resize(template: string, size: PoolSize, drains: boolean): void {
    this.#sizes.set(template, size);
    if (drains) this.#draining.add(template);
    else this.#draining.delete(template);
    this.#resizeOpenPools(template);
  }

  /** Returns undefined before the pool is first needed. */
  getState(template: string): PoolState | undefined {
    const [first, ...others] = this.#getOpenPools(template).map((pool) => pool.state());
    return first && others.reduce(mergeStates, first);
  }

  /** Reads the usage of each of its sandboxes that is measured. */
  async readUsage(template: string): Promise<ReadonlyMap<string, SandboxUsage>> {
    const read = await Promise.all(this.#getOpenPools(template).map((pool) => pool.readUsage()));
    return new Map(read.flatMap((usages) => Array.from(usages)));
  }

  /** Opens the template's pool. @throws InputError, InfrastructureError where its sandboxes cannot be made. */
  async open(pool: PoolName, signal: AbortSignal): Promise<Pool<RunnerSession>> {
    return (await this.#openOnce(pool, signal)).pool;
  }

  /** Makes the pool's sandboxes with the content in memory, where the provider can. */
  async share(pool: PoolName, content: readonly SharedContent[], principal: string, signal: AbortSignal): Promise<Sharing | undefined> {
    if (content.length === 0) return undefined;
    const { made } = await this.#openOnce(pool, signal);
    const provider = await this.#getProvider(this.getSettings(pool.template).provider);
    return await provider.share?.(made, content, principal, signal);
  }

  /** Makes what the pool's sandboxes are made of. After a failure the next caller tries again. @throws InputError, InfrastructureError */
  make({ template, policy }: PoolName, signal: AbortSignal): Promise<SandboxTemplate> {
    const made = this.#made[policy];
    let making = made.get(template);
    if (!making) {
      const settings = { ...this.getSettings(template), policy };
      making = getPlugin(settings).template(template, settings, { projectDirectory: PACKAGE_ROOT, signal: this.#closing.signal });
      making.catch(() => made.delete(template));
      made.set(template, making);
    }
    return raceWithAbort(making, signal);
  }

  /** Describes the isolation of the pool's sandboxes, without making one. @throws InputError, InfrastructureError where none can be made. */
  async describe(pool: PoolName, signal: AbortSignal): Promise<Isolation> {
    const made = await this.make(pool, signal);
    const provider = await this.#getProvider(this.getSettings(pool.template).provider);
    return await raceWithAbort(provider.describe(made), signal);
  }

  #resizeOpenPools(template: string): void {
    for (const policy of PLACEMENTS) this.#open[policy].get(template)?.resize(this.#getEffectiveSize(template, policy));
  }

  #getOpenPools(template: string): readonly Pool<RunnerSession>[] {
    return PLACEMENTS.map((policy) => this.#open[policy].get(template)).filter((pool) => pool !== undefined);
  }

  /**
   * Begins to remove the leftovers of killed processes, wherever a configured template has its sandboxes. Pools do so when they open; this is for a
   * process that may play nothing for long. What cannot be removed is logged and left to the next sweep.
   */
  sweep(): void {
    const names = new Set(Object.values(this.#config.templates).map(({ provider }) => provider));
    const tools = { clock: this.#clock, log: this.#log };
    this.#sweeping = Promise.all(
      [...names].map((name) => sweepLeftovers(name, () => this.#getProvider(name), tools, this.#closing.signal)),
    );
  }

  /** After a failed opening the next caller tries again. */
  async #openOnce({ template, policy }: PoolName, signal: AbortSignal): Promise<OpenPool> {
    const pools = this.#pools[policy];
    let opening = pools.get(template);
    if (!opening) {
      opening = this.#start({ template, policy }, this.#closing.signal);
      opening.catch(() => pools.delete(template));
      pools.set(template, opening);
    }
    return await raceWithAbort(opening, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException('Muster is closing', 'AbortError'));
    await this.#sweeping;
    const pools = await Promise.allSettled([...this.#pools.together.values(), ...this.#pools.apart.values()]);
    for (const open of pools) if (open.status === 'fulfilled') await open.value.pool[Symbol.asyncDispose]();
    const providers = await Promise.allSettled(this.#providers.values());
    for (const open of providers) if (open.status === 'fulfilled') await open.value[Symbol.asyncDispose]();
  }

  async #start({ template: name, policy }: PoolName, signal: AbortSignal): Promise<OpenPool> {
    const settings = this.getSettings(name);
    const made = await this.make({ template: name, policy }, signal);
    const pool = new Pool({
      provider: await this.#getProvider(settings.provider),
      template: made,
      config: this.#buildPoolConfig({ template: name, policy }),
      clock: this.#clock,
      warmUp: (sandbox, abandoned) => RunnerSession.open(sandbox, this.#clock, abandoned, settings.limits.memoryBytes),
      newSandboxId: () => parseSandboxId(`s${(this.#sandboxes += 1)}`),
    });
    try {
      await pool.waitUntilStarted();
      this.#open[policy].set(name, pool);
      // It may have been resized meanwhile, and the other pool of the template may keep fewer sandboxes now.
      this.#resizeOpenPools(name);
      return { pool, made };
    } catch (error) {
      await pool[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Of two pools of a template, the one for policies beside their environments keeps its `min` and `warm`, so that they are kept once. */
  #getEffectiveSize(template: string, policy: PolicyPlacement): PoolSize {
    if (this.#draining.has(template)) return NONE;
    const size = this.getSize(template);
    return policy === 'apart' && this.#open.together.has(template) ? { ...size, min: 0, warm: 0 } : size;
  }

  #getAllowance(template: string): Allowance {
    const settings = this.getSettings(template);
    return getPlugin(settings).allowance(settings);
  }

  #buildPoolConfig({ template, policy }: PoolName): PoolConfig {
    const { pool } = this.#config;
    const allowance = this.#getAllowance(template);
    const creationsPerSecond = Math.min(pool.creationsPerSecond, allowance.creationsPerSecond ?? Infinity);
    return { ...pool, ...this.#getEffectiveSize(template, policy), creationsPerSecond, restSeconds: allowance.restSeconds };
  }

  /** Opens one of each kind; after a failed opening the next caller tries again. */
  #getProvider(name: string): Promise<SandboxProvider> {
    let opening = this.#providers.get(name);
    if (!opening) {
      const templates = Object.values(this.#config.templates).filter(({ provider }) => provider === name);
      opening = getPlugin({ provider: name }).open(this.#buildHost(), templates);
      opening.catch(() => this.#providers.delete(name));
      this.#providers.set(name, opening);
    }
    return opening;
  }

  #buildHost(): ProviderHost {
    const log = (message: string): void => this.#log.warn({}, message);
    const { stateDir, delivery } = this.#config;
    const origins = delivery.url === 'none' ? [] : [new URL(delivery.url).hostname, ...delivery.bucketHosts];
    return { stateDir, owner: this.#owner, clock: this.#clock, projectDirectory: PACKAGE_ROOT, origins, log };
  }
}
