import type { SandboxId } from '../../kernel/ids.ts';
import { FRESH, type PastExposure } from '../ports/exposure.ts';
import type { LeaseTicket } from '../ports/lease.ts';
import type { Occupant } from './occupant.ts';
import type { Sandbox } from '../ports/sandbox.ts';
import { canFollow, type SandboxObservation, type SandboxState, type SandboxStateKind } from '../planning/sandbox-state.ts';

/** One sandbox in the pool's records, from the intent to create it until it is gone. */
export class Member<Resident extends Occupant> implements SandboxObservation {
  readonly id: SandboxId;
  /** The time at which its creation began. */
  readonly since: number;
  /** The principal that it is created for; undefined: any. */
  readonly audience: string | undefined;
  state: SandboxState = { kind: 'creating' };
  episodes = 0;
  /** Generation of its latest lease. */
  generation = 0;
  /** Whether the provider has made it. */
  isMade = false;
  /** Set from `idle` on. */
  warm: { readonly sandbox: Sandbox; readonly occupant: Resident } | undefined;
  /** The lease in force; undefined once its holder has returned it. */
  lease: { readonly ticket: LeaseTicket; readonly revocation: AbortController } | undefined;
  /** Aborted when the sandbox has to end; this also abandons a creation under way. */
  readonly condemned = new AbortController();

  constructor(id: SandboxId, since: number, audience: string | undefined) {
    this.id = id;
    this.since = since;
    this.audience = audience;
  }

  get past(): PastExposure {
    if (this.warm) return this.warm.occupant.past ?? FRESH;
    // What it will hold in memory from the start is not known yet, but belongs to that principal.
    return this.audience === undefined ? FRESH : { kind: 'data', principal: this.audience };
  }
}

export type SandboxCounts = Readonly<Record<SandboxStateKind, number>>;

/** All recorded sandboxes, with a count of each state, so that reading the counts costs nothing. */
export class Members<Resident extends Occupant> {
  readonly #members = new Map<SandboxId, Member<Resident>>();
  readonly #counts: Record<SandboxStateKind, number> = { creating: 0, warming: 0, idle: 0, leased: 0, destroying: 0 };
  readonly #whenEmpty: (() => void)[] = [];

  get size(): number {
    return this.#members.size;
  }

  values(): Iterable<Member<Resident>> {
    return this.#members.values();
  }

  get leased(): number {
    return this.#counts.leased;
  }

  count(): SandboxCounts {
    return { ...this.#counts };
  }

  get(id: SandboxId): Member<Resident> | undefined {
    return this.#members.get(id);
  }

  add(member: Member<Resident>): void {
    if (this.#members.has(member.id)) throw new Error(`two sandboxes are called ${member.id}`);
    this.#members.set(member.id, member);
    this.#counts[member.state.kind]++;
  }

  move(member: Member<Resident>, state: SandboxState): void {
    const from = member.state.kind;
    if (!canFollow(from, state.kind)) throw new Error(`sandbox ${member.id} cannot go from ${from} to ${state.kind}`);
    this.#counts[from]--;
    this.#counts[state.kind]++;
    member.state = state;
  }

  remove(member: Member<Resident>): void {
    if (member.state.kind !== 'destroying')
      throw new Error(`sandbox ${member.id} is ${member.state.kind}: only what is being destroyed can be gone`);
    if (this.#members.delete(member.id)) this.#counts.destroying--;
    if (this.size === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  /** Resolves when no sandbox is recorded any more. */
  waitUntilEmpty(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.size === 0) resolve();
    else this.#whenEmpty.push(resolve);
    return promise;
  }
}
