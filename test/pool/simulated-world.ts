import assert from 'node:assert/strict';
import { parseLeaseId, parseSandboxId, type LeaseId, type SandboxId } from '../../src/kernel/ids.ts';
import { CreationHistory } from '../../src/pool/planning/creation-history.ts';
import { addExposure, FRESH, mayServe, type Exposure, type PastExposure } from '../../src/pool/ports/exposure.ts';
import type { PoolAction, PoolObservation, PoolPhase, WaiterObservation } from '../../src/pool/planning/plan-terms.ts';
import { getCreationRate, plan } from '../../src/pool/planning/plan.ts';
import type { PoolConfig } from '../../src/pool/planning/pool-config.ts';
import { canFollow, type SandboxObservation, type SandboxState } from '../../src/pool/planning/sandbox-state.ts';

interface SimulatedSandbox extends SandboxObservation {
  readonly beganAt: number;
  generation: number;
}

/** A world of sandboxes and waiters that does what the planner says, at once, and checks that each action was right to take. */
export class SimulatedWorld {
  readonly config: PoolConfig;
  readonly sandboxes = new Map<SandboxId, SimulatedSandbox>();
  readonly waiting = new Map<number, WaiterObservation>();
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
    this.#creation = new CreationHistory(getCreationRate(config), 0);
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

  inState(...kinds: SandboxState['kind'][]): SimulatedSandbox[] {
    return [...this.sandboxes.values()].filter(({ state }) => kinds.includes(state.kind));
  }

  acquire(wanted: Exposure): number {
    const id = ++this.#lastWaiter;
    this.waiting.set(id, { id, since: this.now, wanted });
    return id;
  }

  move(place: SimulatedSandbox, state: SandboxState, episodes = place.episodes, past = place.past): void {
    assert(canFollow(place.state.kind, state.kind), `${place.state.kind} to ${state.kind}`);
    this.sandboxes.set(place.id, { ...place, state, episodes, past });
  }

  makeIdle(place: SimulatedSandbox, episodes = place.episodes): void {
    const isNew = place.state.kind === 'warming';
    if (isNew) this.#creation.onReady();
    this.move(
      place,
      { kind: 'idle', since: this.now, answeredAt: this.now, pingedAt: undefined },
      episodes,
      isNew ? this.#born(place) : place.past,
    );
  }

  /** One that is made for a principal has data or code of it in memory from its beginning, or nothing; any other has what the provider thinks best. */
  #born({ past }: SimulatedSandbox): PastExposure {
    const principal = past.kind === 'data' ? past.principal : 'ann';
    if (principal === undefined) return FRESH;
    const kinds = [FRESH, { kind: 'data', principal }, { kind: 'imported', principal }] as const;
    return kinds[this.createdAt.length % kinds.length] ?? FRESH;
  }

  made(place: SimulatedSandbox): void {
    this.#creation.onCreated(this.now);
    this.move(place, { kind: 'warming' });
  }

  /** The provider's service takes no more creations. */
  refuse(place: SimulatedSandbox, retryAfterMs?: number): void {
    this.#creation.onRefused(place.beganAt, new Error('busy'), this.now, retryAfterMs);
    this.move(place, { kind: 'destroying', reason: 'refused' });
  }

  fail(place: SimulatedSandbox): void {
    this.#creation.onFailed(place.beganAt, new Error('no'), this.now);
    this.move(place, { kind: 'destroying', reason: 'failed' });
  }

  answer(place: SimulatedSandbox): void {
    if (place.state.kind === 'idle') this.move(place, { ...place.state, answeredAt: this.now, pingedAt: undefined });
  }

  renew(place: SimulatedSandbox): void {
    if (place.state.kind === 'leased') this.move(place, { ...place.state, expiresAt: this.now + this.config.leaseSeconds * 1000 });
  }

  reap(place: SimulatedSandbox): void {
    this.sandboxes.delete(place.id);
    this.gone.add(place.id);
  }

  /** Everything outside goes well: what comes gets ready, what is leased is released, what is destroyed is gone; then time passes. */
  goWell(): void {
    for (const place of this.inState('destroying')) this.reap(place);
    for (const place of this.inState('creating')) this.made(place);
    for (const place of this.inState('warming', 'leased')) this.makeIdle(place);
    for (const place of this.inState('idle')) this.answer(place);
    this.act();
    if (this.#wakeAt < Infinity) this.now = Math.max(this.now, this.#wakeAt);
    this.act();
  }

  /** As `goWell`, but that nothing can be created any more. */
  goBadly(): void {
    for (const place of this.inState('destroying')) this.reap(place);
    for (const place of this.inState('creating', 'warming')) this.fail(place);
    for (const place of this.inState('leased')) this.makeIdle(place);
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
        return this.#create(action.audiences);
      case 'grant':
        return this.#grant(action.waiter, this.#place(action.sandbox));
      case 'refuse':
        return this.#refuse(action.waiter);
      case 'revoke':
        return this.#revoke(action.lease, this.#place(action.sandbox));
      case 'destroy':
        assert.notEqual(this.#place(action.sandbox).state.kind, 'leased');
        if (action.why === 'unfit') this.#assertInTheWay(this.#place(action.sandbox));
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

  #create(audiences: readonly (string | undefined)[]): void {
    assert.equal(this.phase, 'open');
    assert(this.now >= this.#creation.pausedUntil, 'the service is left alone for as long as it asked');
    for (const audience of audiences) {
      this.createdAt.push(this.now);
      const id = parseSandboxId(`s-${this.createdAt.length}`);
      this.sandboxes.set(id, {
        id,
        state: { kind: 'creating' },
        episodes: 0,
        past: audience === undefined ? FRESH : { kind: 'data', principal: audience },
        beganAt: this.now,
        generation: 0,
      });
    }
    this.#creation.onBegun(audiences.length, this.now);
    assert(this.inState('creating', 'warming').length <= this.config.creationConcurrency);
  }

  #grant(id: number, place: SimulatedSandbox): void {
    assert.equal(this.phase, 'open');
    const waiter = this.waiting.get(id);
    assert(waiter);
    for (const earlier of this.waiting.values())
      if (earlier.id < id) assert(!mayServe(place.past, earlier.wanted), 'first come, first served, by what may serve');
    assert.equal(place.state.kind, 'idle', 'only an idle sandbox is granted');
    assert(place.episodes < this.config.episodesPerSandbox);
    this.waiting.delete(id);
    place.generation++;
    const expiresAt = this.now + this.config.leaseSeconds * 1000;
    const leased = { kind: 'leased', lease: parseLeaseId(`lease-${++this.#leases}`), generation: place.generation, expiresAt } as const;
    // The waiter that gets it brings at once what was wanted, which fails where that may not come in.
    this.move(place, leased, place.episodes, addExposure(place.past, waiter.wanted));
  }

  #refuse(id: number): void {
    const waiter = this.waiting.get(id);
    assert(waiter);
    const hope = [
      ...this.inState('creating', 'warming', 'leased'),
      ...this.inState('idle').filter(({ past }) => mayServe(past, waiter.wanted)),
    ];
    assert(this.phase !== 'open' || hope.length === 0, 'refused while there is hope');
    this.waiting.delete(id);
    this.refused++;
  }

  #revoke(lease: LeaseId, place: SimulatedSandbox): void {
    if (place.state.kind !== 'leased') throw new Error('what is not leased was revoked');
    assert.equal(place.state.lease, lease);
    assert(this.phase === 'closing' || place.state.expiresAt <= this.now, 'revoked before its time');
    this.move(place, { kind: 'destroying', reason: 'revoked' });
  }

  #assertInTheWay(place: SimulatedSandbox): void {
    const claimed = this.inState('leased', 'idle').length + this.waiting.size;
    assert(claimed > this.config.max, 'only where its room is needed does one go because of what was in it');
    assert([...this.waiting.values()].some(({ wanted }) => !mayServe(place.past, wanted)));
  }

  #ping(place: SimulatedSandbox): void {
    if (place.state.kind !== 'idle') throw new Error('what is not idle was pinged');
    assert.equal(place.state.pingedAt, undefined);
    assert(!place.state.isResting, 'what sleeps is left alone');
    this.move(place, { ...place.state, pingedAt: this.now });
  }

  #rest(place: SimulatedSandbox): void {
    if (place.state.kind !== 'idle') throw new Error('what is not idle was paused');
    assert.equal(place.state.pingedAt, undefined, 'paused while it owes an answer');
    assert(!place.state.isResting, 'paused twice');
    assert(this.now >= place.state.since + (this.config.restSeconds ?? Infinity) * 1000, 'paused too soon');
    this.move(place, { ...place.state, isResting: true });
  }

  #place(id: SandboxId): SimulatedSandbox {
    const place = this.sandboxes.get(id);
    if (place === undefined) throw new Error(`no sandbox ${id}`);
    return place;
  }

  #check(): void {
    assert(this.sandboxes.size <= this.config.max, 'nothing is created past the maximum');
    const leases = this.inState('leased').map(({ state }) => state.kind === 'leased' && state.lease);
    assert.equal(new Set(leases).size, leases.length);
    if (this.phase !== 'open' || this.waiting.size === 0) return;
    const idle = this.inState('idle');
    for (const { wanted } of this.waiting.values())
      assert(!idle.some(({ past }) => mayServe(past, wanted)), 'no request waits while a sandbox is idle that may serve it');
    const claimed = this.inState('leased').length + this.waiting.size + idle.length;
    assert(idle.length === 0 || claimed <= this.config.max, 'no request waits for the room of an idle sandbox');
  }
}
