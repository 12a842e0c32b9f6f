import type { Clock } from '../../kernel/clock.ts';
import { parseLeaseId } from '../../kernel/ids.ts';
import { Lease, LeaseLostError, type LeaseIssuer, type LeaseLoss, type LeaseTicket } from '../ports/lease.ts';
import type { Occupant } from './occupant.ts';
import type { PoolConfig } from '../planning/pool-config.ts';
import type { Member, Members } from './members.ts';

/** Handles a sandbox that its holder has returned. */
export interface Returns<Resident extends Occupant> {
  onReleased(member: Member<Resident>): void;
  onDiscarded(member: Member<Resident>, reason: string): void;
}

/** The terms of the pool's configuration. */
export type LeaseTerms = Pick<PoolConfig, 'leaseSeconds' | 'episodesPerSandbox'>;

/** Grants leases and checks at every use that the lease is still in force. */
export class LeaseManager<Resident extends Occupant> implements LeaseIssuer {
  readonly #members: Members<Resident>;
  readonly #clock: Clock;
  readonly #terms: LeaseTerms;
  readonly #returns: Returns<Resident>;
  #granted = 0;
  #revoked = 0;

  constructor(members: Members<Resident>, clock: Clock, terms: LeaseTerms, returns: Returns<Resident>) {
    this.#members = members;
    this.#clock = clock;
    this.#terms = terms;
    this.#returns = returns;
  }

  get granted(): number {
    return this.#granted;
  }

  get revoked(): number {
    return this.#revoked;
  }

  /** The sandbox must be idle. */
  grant(member: Member<Resident>): Lease<Resident> {
    if (member.warm === undefined) throw new Error(`sandbox ${member.id} was never ready, so it cannot be leased`);
    const generation = member.generation + 1;
    const id = parseLeaseId(`lease-${this.#granted + 1}`);
    this.#members.move(member, { kind: 'leased', lease: id, generation, expiresAt: this.#clock.now() + this.#terms.leaseSeconds * 1000 });
    this.#granted++;
    member.generation = generation;
    const revocation = new AbortController();
    const ticket: LeaseTicket = { id, sandboxId: member.id, generation, signal: revocation.signal };
    member.lease = { ticket, revocation };
    return new Lease(ticket, member.warm.sandbox, member.warm.occupant, this);
  }

  /** Ends the lease in force, if there is one, without its holder's consent. */
  revoke(member: Member<Resident>, loss: LeaseLoss): void {
    const lease = member.lease;
    if (lease === undefined) return;
    member.lease = undefined;
    this.#revoked++;
    lease.revocation.abort(new LeaseLostError(lease.ticket.id, member.id, loss));
  }

  renew(ticket: LeaseTicket): void {
    const member = this.#findHolder(ticket);
    const expiresAt = this.#clock.now() + this.#terms.leaseSeconds * 1000;
    this.#members.move(member, { kind: 'leased', lease: ticket.id, generation: ticket.generation, expiresAt });
  }

  countEpisodes(ticket: LeaseTicket, count: number): void {
    this.#findHolder(ticket).episodes += count;
  }

  episodesLeft(ticket: LeaseTicket): number {
    const member = this.#findInForce(ticket);
    return member === undefined ? 0 : Math.max(0, this.#terms.episodesPerSandbox - member.episodes);
  }

  release(ticket: LeaseTicket): void {
    const member = this.#findInForce(ticket);
    if (member === undefined) return;
    member.lease = undefined;
    this.#returns.onReleased(member);
  }

  discard(ticket: LeaseTicket, reason: string): void {
    const member = this.#findInForce(ticket);
    if (member === undefined) return;
    member.lease = undefined;
    this.#returns.onDiscarded(member, reason);
  }

  /** @throws LeaseLostError when the ticket is not in force. */
  #findHolder(ticket: LeaseTicket): Member<Resident> {
    const member = this.#findInForce(ticket);
    if (member !== undefined) return member;
    ticket.signal.throwIfAborted();
    const unrevoked = this.#members.get(ticket.sandboxId)?.lease?.ticket === ticket;
    throw new LeaseLostError(ticket.id, ticket.sandboxId, { kind: unrevoked ? 'expired' : 'released' });
  }

  /** An expired lease is not in force, even before the planner revokes it. */
  #findInForce(ticket: LeaseTicket): Member<Resident> | undefined {
    const member = this.#members.get(ticket.sandboxId);
    if (member?.state.kind !== 'leased' || member.state.generation !== ticket.generation) return undefined;
    return this.#clock.now() < member.state.expiresAt ? member : undefined;
  }
}
