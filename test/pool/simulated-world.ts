import assert from 'node:assert/strict';
import { parseLeaseId, parseSandboxId, type LeaseId, type SandboxId } from '../../src/kernel/ids.ts';
import { CreationHistory } from '../../src/pool/creation-history.ts';
import { creationRate, plan, type PoolAction, type PoolObservation, type PoolPhase } from '../../src/pool/plan.ts';
import type { PoolConfig } from '../../src/pool/pool-config.ts';
import { canFollow, type SandboxObservation, type SandboxState } from '../../src/pool/sandbox-state.ts';

interface Place extends SandboxObservation {
  readonly beganAt: number;
  generation: number;
}

/** A world of sandboxes and waiters that does what the planner says, at once, and checks that each action was right to take. */
export class SimulatedWorld {
  readonly config: PoolConfig;
  readonly sandboxes = new Map<SandboxId, Place>();
  readonly waiting = new Map<number, { readonly id: number; readonly since: number }>();
  readonly createdAt: number[] = [];
  readonly gone = new Set<SandboxId>();
  refused = 0;
  now = 0;
  phase: PoolPhase = 'open';
  readonly #creation: CreationHistory;
  #lastWaiter = 0;
  #leases = 0;
  #wakeAt = Infinity;

  constructor(config: PoolConfig) {
    this.config = config;
    this.#creation = new CreationHistory(creationRate(config), 0);
  }

  /** The planner's turn. What it says is done, after which it must have nothing more to say. */
  act(): void {
    const spoken = new Set<SandboxId>();
    for (const action of this.#plan()) this.#apply(action, spoken);
    assert.deepEqual(
      this.#plan().filter(({ kind }) => kind !== 'wake'),
      [],
    );
    this.#check();
  }

  inState(...kinds: SandboxState['kind'][]): Place[] {
    return [...this.sandboxes.values()].filter(({ state }) => kinds.includes(state.kind));
  }

  acquire(): void {
    const id = ++this.#lastWaiter;
    this.waiting.set(id, { id, since: this.now });
  }

  move(place: Place, state: SandboxState, episodes = place.episodes): void {
    assert(canFollow(place.state.kind, state.kind), `${place.state.kind} to ${state.kind}`);
    this.sandboxes.set(place.id, { ...place, state, episodes });
  }

  makeIdle(place: Place, episodes = place.episodes): void {
    if (place.state.kind === 'warming') this.#creation.succeeded();
    this.move(place, { kind: 'idle', since: this.now, heardAt: this.now, pingedAt: undefined }, episodes);
  }

  made(place: Place): void {
    this.#creation.made(this.now);
    this.move(place, { kind: 'warming' });
  }

  /** The provider's service takes no more creations. */
  refuse(place: Place, retryAfterMs?: number): void {
    this.#creation.refused(place.beganAt, new Error('busy'), this.now, retryAfterMs);
    this.move(place, { kind: 'destroying', reason: 'refused' });
  }

  fail(place: Place): void {
    this.#creation.failed(place.beganAt, new Error('no'), this.now);
    this.move(place, { kind: 'destroying', reason: 'failed' });
  }

  answer(place: Place): void {
    if (place.state.kind === 'idle') this.move(place, { ...place.state, heardAt: this.now, pingedAt: undefined });
  }

  renew(place: Place): void {
    if (place.state.kind === 'leased') this.move(place, { ...place.state, expiresAt: this.now + this.config.leaseSeconds * 1000 });
  }

  bury(place: Place): void {
    this.sandboxes.delete(place.id);
    this.gone.add(place.id);
  }

  /** Everything outside goes well: what comes gets ready, what is leased is released, what is destroyed is gone; then time passes. */
  goWell(): void {
    for (const place of this.inState('destroying')) this.bury(place);
    for (const place of this.inState('creating')) this.made(place);
    for (const place of this.inState('warming', 'leased')) this.makeIdle(place);
    for (const place of this.inState('idle')) this.answer(place);
    this.act();
    if (this.#wakeAt < Infinity) this.now = Math.max(this.now, this.#wakeAt);
    this.act();
  }

  #plan(): PoolAction[] {
    const observation: PoolObservation = {
      config: this.config,
      phase: this.phase,
      sandboxes: this.sandboxes.values(),
      waiting: this.waiting.values(),
      creation: this.#creation,
    };
    return plan(observation, this.now);
  }

  #apply(action: PoolAction, spoken: Set<SandboxId>): void {
    if ('sandbox' in action) {
      assert(!spoken.has(action.sandbox), 'one action a sandbox');
      spoken.add(action.sandbox);
    }
    switch (action.kind) {
      case 'create':
        return this.#create(action.count);
      case 'grant':
        return this.#grant(action.waiter, this.#place(action.sandbox));
      case 'refuse':
        assert(this.waiting.delete(action.waiter));
        assert(this.phase !== 'open' || this.inState('creating', 'warming', 'idle', 'leased').length === 0, 'refused while there is hope');
        this.refused++;
        return;
      case 'revoke':
        return this.#revoke(action.lease, this.#place(action.sandbox));
      case 'destroy':
        assert.notEqual(this.#place(action.sandbox).state.kind, 'leased');
        return this.move(this.#place(action.sandbox), { kind: 'destroying', reason: action.why });
      case 'ping':
        return this.#ping(this.#place(action.sandbox));
      case 'rest':
        return this.#rest(this.#place(action.sandbox));
      case 'wake':
        assert(action.at > this.now, 'woken in the past');
        this.#wakeAt = action.at;
    }
  }

  #create(count: number): void {
    assert.equal(this.phase, 'open');
    assert(this.now >= this.#creation.pausedUntil, 'the service is left alone for as long as it asked');
    for (let i = 0; i < count; i++) {
      this.createdAt.push(this.now);
      const id = parseSandboxId(`s-${this.createdAt.length}`);
      this.sandboxes.set(id, { id, state: { kind: 'creating' }, episodes: 0, beganAt: this.now, generation: 0 });
    }
    this.#creation.began(count, this.now);
    assert(this.inState('creating', 'warming').length <= this.config.creationConcurrency);
  }

  #grant(waiter: number, place: Place): void {
    assert.equal(this.phase, 'open');
    assert.equal(waiter, this.waiting.keys().next().value, 'first come, first served');
    assert.equal(place.state.kind, 'idle', 'only an idle sandbox is granted');
    assert(place.episodes < this.config.episodesPerSandbox);
    this.waiting.delete(waiter);
    place.generation++;
    const expiresAt = this.now + this.config.leaseSeconds * 1000;
    this.move(place, { kind: 'leased', lease: parseLeaseId(`lease-${++this.#leases}`), generation: place.generation, expiresAt });
  }

  #revoke(lease: LeaseId, place: Place): void {
    if (place.state.kind !== 'leased') throw new Error('what is not leased was revoked');
    assert.equal(place.state.lease, lease);
    assert(this.phase === 'closing' || place.state.expiresAt <= this.now, 'revoked before its time');
    this.move(place, { kind: 'destroying', reason: 'revoked' });
  }

  #ping(place: Place): void {
    if (place.state.kind !== 'idle') throw new Error('what is not idle was pinged');
    assert.equal(place.state.pingedAt, undefined);
    assert(!place.state.isResting, 'what sleeps is left alone');
    this.move(place, { ...place.state, pingedAt: this.now });
  }

  #rest(place: Place): void {
    if (place.state.kind !== 'idle') throw new Error('what is not idle was laid to rest');
    assert.equal(place.state.pingedAt, undefined, 'laid to rest while it owes an answer');
    assert(!place.state.isResting, 'laid to rest twice');
    assert(this.now >= place.state.since + (this.config.restSeconds ?? Infinity) * 1000, 'laid to rest too soon');
    this.move(place, { ...place.state, isResting: true });
  }

  #place(id: SandboxId): Place {
    const place = this.sandboxes.get(id);
    if (place === undefined) throw new Error(`no sandbox ${id}`);
    return place;
  }

  #check(): void {
    assert(this.sandboxes.size <= this.config.max, 'nothing is created past the maximum');
    const leases = this.inState('leased').map(({ state }) => state.kind === 'leased' && state.lease);
    assert.equal(new Set(leases).size, leases.length);
    if (this.phase === 'open' && this.waiting.size > 0) assert.equal(this.inState('idle').length, 0, 'nobody waits while one is idle');
  }
}
