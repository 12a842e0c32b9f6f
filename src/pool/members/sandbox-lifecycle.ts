import { raceWithAbort } from '../../kernel/abort.ts';
import { InfrastructureError, getMessage } from '../../kernel/errors.ts';
import type { SandboxId } from '../../kernel/ids.ts';
import type { CreationHistory } from '../planning/creation-history.ts';
import type { LeaseLoss } from '../ports/lease.ts';
import { LostSandboxes } from './lost-sandboxes.ts';
import { runSandboxLife, type Making } from './life.ts';
import type { Occupant } from './occupant.ts';
import type { PoolTotals } from './pool-state.ts';
import { ProviderBusyError } from '../ports/provider-busy.ts';
import { Member, type Members } from './members.ts';
import type { Sandbox } from '../ports/sandbox.ts';
import type { IdleState } from '../planning/sandbox-state.ts';
import type { Isolation } from '../ports/template.ts';

export interface LifecycleListener<Resident extends Occupant> {
  /** Called when a sandbox has to end, so that its holder loses it. */
  onEnding(member: Member<Resident>, loss: LeaseLoss): void;
  /** Called when a creation has failed, after one that had not: once for failures in a row. */
  failing(error: unknown): void;
  /** Called when something happened that may need a new plan. */
  onChanged(): void;
}

/** Creates, watches and destroys sandboxes, and keeps the members up to date. */
export class SandboxLifecycle<Resident extends Occupant> {
  readonly creation: CreationHistory;
  readonly lost: LostSandboxes;
  readonly #members: Members<Resident>;
  readonly #making: Making<Resident>;
  readonly #newSandboxId: () => SandboxId;
  readonly #listener: LifecycleListener<Resident>;
  readonly #totals = { created: 0, destroyed: 0, failed: 0, died: 0, abandoned: 0 };
  #isolation: Isolation | undefined;
  #destructionError: string | undefined;

  constructor(
    members: Members<Resident>,
    making: Making<Resident>,
    creation: CreationHistory,
    newSandboxId: () => SandboxId,
    listener: LifecycleListener<Resident>,
  ) {
    this.#members = members;
    this.#making = making;
    this.creation = creation;
    this.lost = new LostSandboxes(making.clock);
    this.#newSandboxId = newSandboxId;
    this.#listener = listener;
  }

  getTotals(): Omit<PoolTotals, 'leases' | 'revoked'> {
    return { ...this.#totals };
  }

  /** The isolation that the latest sandbox reports. */
  get isolation(): Isolation | undefined {
    return this.#isolation;
  }

  get destructionError(): string | undefined {
    return this.#destructionError;
  }

  /**
   * Records the sandboxes, then creates them, so that a creation that never returns is on record from its start.
   *
   * @param audiences for each sandbox its principal, or undefined for any.
   */
  create(audiences: readonly (string | undefined)[]): void {
    const { clock } = this.#making;
    this.creation.onBegun(audiences.length, clock.now());
    for (const audience of audiences) {
      const member = new Member<Resident>(this.#newSandboxId(), clock.now(), audience);
      this.#members.add(member);
      void runSandboxLife(member, this.#making, member.condemned.signal, {
        onCreated: (sandbox) => this.#onCreated(member, sandbox),
        warm: (sandbox, occupant) => this.#warm(member, sandbox, occupant),
        onDied: (detail) => this.onDied(member, detail),
        onFailed: (error) => this.#onFailed(member, error),
        onGone: (error) => this.#onGone(member, error),
      });
    }
  }

  #onCreated(member: Member<Resident>, sandbox: Sandbox): void {
    this.#totals.created++;
    this.creation.onCreated(this.#making.clock.now());
    this.#isolation = sandbox.isolation;
    member.isMade = true;
    if (member.state.kind === 'creating') this.#members.move(member, { kind: 'warming' });
  }

  #warm(member: Member<Resident>, sandbox: Sandbox, occupant: Resident): void {
    if (member.state.kind !== 'warming') return;
    const now = this.#making.clock.now();
    member.warm = { sandbox, occupant };
    this.creation.onReady();
    this.#members.move(member, { kind: 'idle', since: now, answeredAt: now, pingedAt: undefined });
    this.#listener.onChanged();
  }

  /** An answer counts only if the sandbox has stayed idle since; a lease holder notices a dead sandbox by itself. */
  async ping(sandbox: SandboxId): Promise<void> {
    const member = this.#members.get(sandbox);
    if (member?.state.kind !== 'idle' || member.warm === undefined) return;
    const pinged: IdleState = { ...member.state, pingedAt: this.#making.clock.now() };
    this.#members.move(member, pinged);
    const { signal } = member.condemned;
    try {
      await raceWithAbort(member.warm.occupant.ping(signal), signal);
    } catch (error) {
      if (member.state === pinged) this.onDied(member, `its heartbeat failed: ${getMessage(error)}`);
    }
    if (member.state === pinged) this.#members.move(member, { ...pinged, answeredAt: this.#making.clock.now(), pingedAt: undefined });
  }

  /** Pauses the sandbox; the next use wakes it. */
  async rest(sandbox: SandboxId): Promise<void> {
    const member = this.#members.get(sandbox);
    if (member?.state.kind !== 'idle' || member.warm === undefined) return;
    this.#members.move(member, { ...member.state, isResting: true });
    try {
      await member.warm.sandbox.capabilities?.rest?.();
    } catch (error) {
      this.onDied(member, `it could not be paused: ${getMessage(error)}`);
    }
  }

  /** Called when the sandbox can no longer be used, although no caller wanted that. */
  onDied(member: Member<Resident>, detail: string): void {
    switch (member.state.kind) {
      case 'creating':
      case 'warming':
        return this.#onFailed(member, new InfrastructureError('sandbox.died', `sandbox ${member.id} died: ${detail}`));
      case 'idle':
      case 'leased':
        this.#totals.died++;
        this.lost.add(member.id, detail);
        return this.condemn(member, detail, { kind: 'sandbox-died', detail });
      case 'destroying':
        return;
    }
  }

  #onFailed(member: Member<Resident>, error: unknown): void {
    if (member.state.kind === 'destroying') return;
    const now = this.#making.clock.now();
    if (error instanceof ProviderBusyError) this.creation.onRefused(member.since, error, now, error.retryAfterMs);
    else {
      this.#totals.failed++;
      const before = this.creation.failures;
      this.creation.onFailed(member.since, error, now);
      if (before === 0 && this.creation.failures === 1) this.#listener.failing(error);
    }
    this.condemn(member, getMessage(error), { kind: 'sandbox-died', detail: getMessage(error) });
  }

  /** Records the end, signals it to the holder, then carries it out. Has no effect when the sandbox is ending already. */
  condemn(member: Member<Resident>, reason: string, loss: LeaseLoss): void {
    const { kind } = member.state;
    if (kind === 'destroying') return;
    this.#members.move(member, { kind: 'destroying', reason });
    this.#listener.onEnding(member, loss);
    const text = `sandbox ${member.id} has to go: ${reason}`;
    // A leased one is in its holder's hands: nothing waits for it with this signal, so nothing reads an error, which takes long to make.
    member.condemned.abort(kind === 'leased' ? text : new InfrastructureError('sandbox.condemned', text));
    this.#listener.onChanged();
  }

  #onGone(member: Member<Resident>, error: InfrastructureError | undefined): void {
    this.#members.remove(member);
    if (error === undefined) {
      if (member.isMade) this.#totals.destroyed++;
    } else {
      this.#totals.abandoned++;
      this.#destructionError = error.message;
    }
    this.#listener.onChanged();
  }
}
