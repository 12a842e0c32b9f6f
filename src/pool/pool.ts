import { raceWithAbort } from '../kernel/abort.ts';
import type { Clock } from '../kernel/clock.ts';
import { InfrastructureError, getMessage } from '../kernel/errors.ts';
import type { LeaseId, SandboxId } from '../kernel/ids.ts';
import type { SandboxUsage } from '../kernel/sandbox-usage.ts';
import { createCreationError } from './members/creation-error.ts';
import { CreationHistory } from './planning/creation-history.ts';
import { mayServe, type Exposure } from './ports/exposure.ts';
import { SandboxLifecycle } from './members/sandbox-lifecycle.ts';
import type { Lease } from './ports/lease.ts';
import { LeaseManager } from './members/lease-manager.ts';
import type { Occupant } from './members/occupant.ts';
import { computePlanInterval, Pacer } from './planning/pacer.ts';
import { describeDestruction, type DestroyReason, type PoolAction, type PoolPhase } from './planning/plan-terms.ts';
import { getCreationRate, hasPlayedEnough, plan } from './planning/plan.ts';
import type { PoolConfig, PoolSize } from './planning/pool-config.ts';
import type { PoolState } from './members/pool-state.ts';
import { prepare, type Preparation } from './members/preparation.ts';
import { readUsage } from './members/read-usage.ts';
import { Members, type Member } from './members/members.ts';
import type { Sandbox, SandboxProvider } from './ports/sandbox.ts';
import type { SandboxTemplate } from './ports/template.ts';
import { LeaseQueue } from './members/lease-queue.ts';

export interface PoolOptions<Resident extends Occupant> {
  /** Outlives the pool, which does not dispose it. */
  readonly provider: SandboxProvider;
  readonly template: SandboxTemplate;
  readonly config: PoolConfig;
  readonly clock: Clock;
  /** Resolves when the sandbox is ready for work. Its signal aborts it after `readySeconds` or when it is no longer wanted. */
  readonly warmUp: (sandbox: Sandbox, signal: AbortSignal) => Promise<Resident>;
  /** Called with the first of several failures in a row to create a sandbox. The pool tries again, and refuses those who wait in the end. */
  readonly onFailing?: (error: unknown) => void;
  /** Returns a new name each time. */
  readonly newSandboxId: () => SandboxId;
}

/**
 * Keeps sandboxes ready and leases them. `plan` decides what to do, from the whole pool, whenever something has happened; this class
 * carries it out. Only one action needs no plan: handing a released sandbox to the first waiter.
 */
export class Pool<Resident extends Occupant> implements AsyncDisposable {
  readonly #options: PoolOptions<Resident>;
  readonly #members = new Members<Resident>();
  readonly #line = new LeaseQueue<Lease<Resident>>();
  readonly #lifecycle: SandboxLifecycle<Resident>;
  readonly #leases: LeaseManager<Resident>;
  readonly #pacer: Pacer;
  readonly #closing = new AbortController();
  readonly #started: Promise<void>;
  #phase: PoolPhase = 'starting';
  #config: PoolConfig;
  #preparation: Preparation | undefined;

  constructor(options: PoolOptions<Resident>) {
    const { config, clock } = options;
    this.#options = options;
    this.#config = config;
    const computeInterval = (): number => computePlanInterval(this.#members.size);
    this.#pacer = new Pacer(clock, computeInterval, () => this.#run());
    this.#leases = new LeaseManager(this.#members, clock, config, {
      onReleased: (member) => this.#onReleased(member),
      onDiscarded: (member, reason) => this.#lifecycle.condemn(member, reason, { kind: 'released' }),
    });
    const making = { ...options, readySeconds: config.readySeconds };
    const creation = new CreationHistory(getCreationRate(config), clock.now());
    this.#lifecycle = new SandboxLifecycle(this.#members, making, creation, options.newSandboxId, {
      onEnding: (member, loss) => this.#leases.revoke(member, loss),
      failing: (error) => options.onFailing?.(error),
      onChanged: () => this.#pacer.runPaced(),
    });
    this.#started = this.#start();
    // When the pool cannot start, every `acquire` rejects with the reason, so no caller has to await `started`.
    this.#started.catch((error: unknown) => this.#close(error));
  }

  /** Resolves when sandboxes can be created. @throws the provider's InputError or InfrastructureError when none ever can. */
  waitUntilStarted(): Promise<void> {
    return this.#started;
  }

  /**
   * Leases a ready sandbox to the caller alone, in order of arrival.
   *
   * @param wanted what the caller will bring into it: the sandbox has held nothing that must not meet this. @throws the signal's reason
   * when it is aborted first; InfrastructureError when sandboxes cannot be created, or the pool is closed.
   */
  acquire(wanted: Exposure, signal: AbortSignal): Promise<Lease<Resident>> {
    if (this.#phase === 'draining' || this.#phase === 'closing') return Promise.reject(this.#createClosedError());
    const lease = this.#line.join(wanted, this.#options.clock.now(), signal);
    this.#pacer.runPaced();
    return lease;
  }

  get size(): PoolSize {
    return this.#config;
  }

  /** Changes the size. Leased sandboxes stay until they are returned; idle ones beyond the new size end when their time is over. */
  resize({ min, max, warm }: PoolSize): void {
    this.#config = { ...this.#config, min, max, warm };
    this.#pacer.runPaced();
  }

  /** Returns the resources that each sandbox has used, as far as the provider measures them. Leaves out sandboxes that end meanwhile. */
  readUsage(): Promise<ReadonlyMap<SandboxId, SandboxUsage>> {
    return readUsage(this.#members.values());
  }

  /** Sandboxes that are leased now. */
  get leased(): number {
    return this.#members.leased;
  }

  state(): PoolState {
    const { lastError } = this.#lifecycle.creation;
    const { provider, template } = this.#options;
    return {
      phase: this.#phase,
      obstacles: provider.obstacles?.(template) ?? [],
      sandboxes: this.#members.count(),
      lost: this.#lifecycle.lost.list(),
      waiting: this.#line.size,
      totals: { ...this.#lifecycle.getTotals(), leases: this.#leases.granted, revoked: this.#leases.revoked },
      isolation: this.#lifecycle.isolation ?? this.#preparation?.isolation,
      swept: this.#preparation?.swept,
      lastErrors: {
        creation: lastError === undefined ? undefined : getMessage(lastError),
        destruction: this.#lifecycle.destructionError,
        sweep: this.#preparation?.sweepError,
      },
    };
  }

  /**
   * Grants no more leases; those in force may finish. Resolves when no sandbox is left. @throws the signal's reason when aborted first; the
   * pool keeps draining.
   */
  async drain(signal: AbortSignal): Promise<void> {
    if (this.#phase !== 'closing') this.#phase = 'draining';
    this.#pacer.runSoon();
    await raceWithAbort(this.#members.waitUntilEmpty(), signal);
  }

  /** Ends everything, leases included. Resolves when no sandbox is left. @throws InfrastructureError when some could not be destroyed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close(new InfrastructureError('pool.closed', 'the pool of sandboxes is closed'));
    await Promise.allSettled([this.#started]);
    await this.#members.waitUntilEmpty();
    this.#pacer[Symbol.dispose]();
    const { abandoned } = this.#lifecycle.getTotals();
    if (abandoned > 0) {
      const last = this.#lifecycle.destructionError ?? 'unknown';
      throw new InfrastructureError('pool.not-empty', `${abandoned} sandboxes could not be destroyed; the last one: ${last}`);
    }
  }

  #close(reason: unknown): void {
    this.#phase = 'closing';
    this.#closing.abort(reason);
    this.#pacer.runSoon();
  }

  #createClosedError(): Error {
    const reason: unknown = this.#closing.signal.reason;
    if (reason instanceof Error) return reason;
    return new InfrastructureError('pool.closed', 'the pool of sandboxes is draining and grants no more leases');
  }

  async #start(): Promise<void> {
    const { provider, template, clock } = this.#options;
    this.#preparation = await prepare(provider, template, clock, this.#closing.signal);
    if (this.#phase === 'starting') this.#phase = 'open';
    this.#pacer.runPaced();
  }

  #run(): void {
    const { clock } = this.#options;
    const observation = {
      config: this.#config,
      phase: this.#phase,
      sandboxes: this.#members.values(),
      waiting: this.#line,
      creation: this.#lifecycle.creation,
    };
    for (const action of plan(observation, clock.now())) this.#apply(action);
  }

  /** An action may make holders and waiters act at once, so each action checks that it still applies; if not, a new plan is made. */
  #apply(action: PoolAction): void {
    switch (action.kind) {
      case 'revoke':
        return this.#revoke(action.sandbox, action.lease, action.loss);
      case 'destroy':
        return this.#destroy(action.sandbox, action.why);
      case 'grant':
        return this.#grant(action.waiter, action.sandbox);
      case 'refuse':
        return this.#line.refuse(
          action.waiter,
          action.why === 'closed' ? this.#createClosedError() : createCreationError(this.#lifecycle.creation),
        );
      case 'create':
        return this.#lifecycle.create(action.audiences);
      case 'ping':
        return void this.#lifecycle.ping(action.sandbox);
      case 'rest':
        return void this.#lifecycle.rest(action.sandbox);
      case 'wake':
        return this.#pacer.runAt(action.at);
    }
  }

  #revoke(sandbox: SandboxId, lease: LeaseId, loss: 'expired' | 'pool-disposed'): void {
    const member = this.#members.get(sandbox);
    if (member?.state.kind !== 'leased' || member.state.lease !== lease) return;
    this.#lifecycle.condemn(member, loss === 'expired' ? 'its lease expired' : 'the pool was closed', { kind: loss });
  }

  #destroy(sandbox: SandboxId, why: DestroyReason): void {
    const member = this.#members.get(sandbox);
    if (member === undefined || member.state.kind === 'leased') return;
    if (why === 'silent')
      return this.#lifecycle.onDied(member, `it did not answer its heartbeat within ${this.#options.config.heartbeatSeconds} s`);
    const { idleSeconds } = this.#options.config;
    this.#lifecycle.condemn(member, describeDestruction(why, member.episodes, idleSeconds), { kind: 'pool-disposed' });
  }

  #grant(waiter: number, sandbox: SandboxId): void {
    const member = this.#members.get(sandbox);
    const wanted = this.#line.get(waiter)?.wanted;
    if (member?.state.kind === 'idle' && wanted !== undefined && mayServe(member.past, wanted))
      this.#line.serve(waiter, this.#leases.grant(member));
    else this.#pacer.runPaced();
  }

  #onReleased(member: Member<Resident>): void {
    if (member.warm?.occupant.isReusable?.() === false)
      return this.#lifecycle.condemn(member, 'it is not fit for another holder', { kind: 'released' });
    const now = this.#options.clock.now();
    this.#members.move(member, { kind: 'idle', since: now, answeredAt: now, pingedAt: undefined });
    const waiter = this.#line.observeFirst();
    if (this.#phase !== 'open' || waiter === undefined || hasPlayedEnough(member, this.#config)) return this.#pacer.runPaced();
    this.#grant(waiter.id, member.id);
  }
}
