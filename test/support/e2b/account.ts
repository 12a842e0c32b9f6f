import type { Clock } from '../../../src/kernel/clock.ts';
import { createFullBucket, findNextTokenTime, takeTokens, countTokensAt } from '../../../src/pool/planning/token-bucket.ts';
import { SimulatedMachine, type MachineContext } from './machine.ts';
import { Refusal } from './wire.ts';

/** What an account may do. */
export interface Plan {
  readonly concurrentSandboxes: number;
  readonly creationsPerSecond: number;
  readonly longestSeconds: number;
  /** Whether a refusal for coming too fast says when to come again. */
  readonly saysRetryAfter: boolean;
}

export const HOBBY: Plan = { concurrentSandboxes: 20, creationsPerSecond: 1, longestSeconds: 3600, saysRetryAfter: true };
export const PRO: Plan = { concurrentSandboxes: 100, creationsPerSecond: 5, longestSeconds: 86_400, saysRetryAfter: true };
export const UNLIMITED: Plan = { concurrentSandboxes: 1e6, creationsPerSecond: 1e6, longestSeconds: 86_400, saysRetryAfter: true };

/** One sandbox of the account, as the API shows it. */
export interface Tenant {
  readonly id: string;
  readonly templateId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly state: 'running' | 'paused';
  readonly startedAt: Date;
  readonly endsAt: Date;
  /** Where it may connect to. */
  readonly reaches?: readonly string[];
}

interface Entry extends Tenant {
  state: 'running' | 'paused';
  endsAt: Date;
  readonly machine: SimulatedMachine;
  timer: Disposable;
}

/** The sandboxes of one account, its plan's limits, and the end of sandboxes that are not extended. */
export class Account {
  readonly templates: readonly string[];
  /** When each creation that went through was. */
  readonly createdAt: number[] = [];
  /** Where each sandbox so far may connect to. */
  readonly reached: (readonly string[])[] = [];
  mostAtOnce = 0;
  refusals = 0;
  readonly #plan: Plan;
  readonly #clock: Clock;
  /** Added to every time that the service reports: its clock is its own. */
  readonly #skewMs: number;
  readonly #context: MachineContext;
  readonly #entries = new Map<string, Entry>();
  #bucket;
  #count = 0;

  constructor(plan: Plan, clock: Clock, context: MachineContext, templates: readonly string[], skewMs = 0) {
    this.#plan = plan;
    this.#clock = clock;
    this.#context = context;
    this.templates = templates;
    this.#skewMs = skewMs;
    this.#bucket = createFullBucket(this.#rate, clock.now());
  }

  get #rate() {
    return { perSecond: this.#plan.creationsPerSecond, burst: Math.max(1, this.#plan.creationsPerSecond) };
  }

  /** Newest first, as the service lists them. */
  get tenants(): readonly Tenant[] {
    return [...this.#entries.values()].toReversed();
  }

  machine(id: string): SimulatedMachine | undefined {
    const entry = this.#entries.get(id);
    return entry?.state === 'running' ? entry.machine : undefined;
  }

  create(templateId: string, seconds: number, metadata: Readonly<Record<string, string>>, reaches: readonly string[] = []): Tenant {
    if (!this.templates.includes(templateId)) throw new Refusal(404, `template '${templateId}' not found`);
    this.#checkLength(seconds);
    this.#admit();
    const id = `i${String((this.#count += 1)).padStart(8, '0')}`;
    const machine = new SimulatedMachine(id, this.#context, reaches.length > 0);
    const startedAt = this.#date();
    const entry: Entry = { id, templateId, metadata, state: 'running', startedAt, endsAt: startedAt, machine, timer: NO_TIMER, reaches };
    this.#entries.set(id, entry);
    this.#limit(entry, seconds, startedAt);
    this.reached.push(reaches);
    this.createdAt.push(this.#clock.now());
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#running);
    return entry;
  }

  tenant(id: string): Tenant {
    return this.#entry(id);
  }

  running(id: string): Tenant {
    const entry = this.#entry(id);
    if (entry.state !== 'running') throw new Refusal(409, `Sandbox '${id}' is not running`);
    return entry;
  }

  extend({ id }: Tenant, seconds: number): void {
    this.#checkLength(seconds);
    this.#limit(this.#entry(id), seconds);
  }

  pause({ id }: Tenant): void {
    const entry = this.#entry(id);
    entry.state = 'paused';
    entry.timer[Symbol.dispose]();
    entry.machine.disconnect();
  }

  resume({ id }: Tenant, seconds: number): void {
    const entry = this.#entry(id);
    entry.state = 'running';
    this.#limit(entry, seconds);
  }

  async end({ id }: Tenant): Promise<void> {
    const entry = this.#entry(id);
    entry.timer[Symbol.dispose]();
    this.#entries.delete(id);
    await entry.machine.end();
  }

  get #running(): number {
    return [...this.#entries.values()].filter(({ state }) => state === 'running').length;
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (!entry) throw new Refusal(404, `Sandbox "${id}" doesn't exist or you don't have access to it`);
    return entry;
  }

  #checkLength(seconds: number): void {
    const { longestSeconds } = this.#plan;
    if (seconds > longestSeconds) throw new Refusal(400, `Timeout cannot be greater than ${longestSeconds / 3600} hours`);
  }

  #admit(): void {
    const now = this.#clock.now();
    const { concurrentSandboxes, saysRetryAfter } = this.#plan;
    if (this.#running >= concurrentSandboxes) {
      this.refusals += 1;
      throw new Refusal(429, `you have reached the maximum number of concurrent E2B sandboxes (${concurrentSandboxes})`);
    }
    if (countTokensAt(this.#bucket, this.#rate, now) < 1) {
      this.refusals += 1;
      const seconds = Math.ceil((findNextTokenTime(this.#bucket, this.#rate, now) - now) / 1000);
      throw new Refusal(429, 'Rate limit exceeded', saysRetryAfter ? { 'retry-after': String(seconds) } : {});
    }
    this.#bucket = takeTokens(this.#bucket, this.#rate, now, 1);
  }

  #limit(entry: Entry, seconds: number, from = this.#date()): void {
    entry.timer[Symbol.dispose]();
    entry.endsAt = new Date(from.getTime() + seconds * 1000);
    entry.timer = this.#clock.after(seconds * 1000, () => void this.end(entry));
  }

  #date(): Date {
    return new Date(this.#clock.date().getTime() + this.#skewMs);
  }
}

const NO_TIMER: Disposable = { [Symbol.dispose]: () => {} };
