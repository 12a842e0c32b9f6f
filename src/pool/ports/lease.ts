import { InfrastructureError } from '../../kernel/errors.ts';
import type { LeaseId, SandboxId } from '../../kernel/ids.ts';
import type { Sandbox } from './sandbox.ts';

/** Why a holder has lost its lease. */
export type LeaseLoss =
  | { readonly kind: 'released' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'sandbox-died'; readonly detail: string }
  | { readonly kind: 'pool-disposed' };

/**
 * A holder tried to use a lease after losing it, or learns of the loss by the lease's signal. Work under way in the sandbox is lost, too.
 */
export class LeaseLostError extends InfrastructureError {
  readonly loss: LeaseLoss;

  constructor(lease: LeaseId, sandbox: SandboxId, loss: LeaseLoss) {
    super('lease.lost', `${lease} on sandbox ${sandbox} was lost: ${formatLoss(loss)}`);
    this.loss = loss;
  }
}

function formatLoss(loss: LeaseLoss): string {
  switch (loss.kind) {
    case 'released':
      return 'its holder had released it; acquire another';
    case 'expired':
      return 'it expired; renew it more often, or raise the pool\'s "leaseSeconds"';
    case 'sandbox-died':
      return `the sandbox died (${loss.detail})`;
    case 'pool-disposed':
      return 'the pool was closed';
  }
}

/** Identifies one lease to its issuer. */
export interface LeaseTicket {
  readonly id: LeaseId;
  readonly sandboxId: SandboxId;
  readonly generation: number;
  readonly signal: AbortSignal;
}

/** Grants leases. Each method first checks that the ticket is in force. */
export interface LeaseIssuer {
  renew(ticket: LeaseTicket): void;
  countEpisodes(ticket: LeaseTicket, count: number): void;
  episodesLeft(ticket: LeaseTicket): number;
  release(ticket: LeaseTicket): void;
  discard(ticket: LeaseTicket, reason: string): void;
}

/**
 * The exclusive, fenced, expiring right to use one sandbox. After its lease was released, expired or revoked, a holder can change nothing,
 * even if the sandbox has another holder by then.
 */
export class Lease<Occupant> implements AsyncDisposable {
  readonly id: LeaseId;
  /** 1, 2, 3, … for the leases of one sandbox, in the order they were granted. */
  readonly generation: number;
  readonly sandbox: Sandbox;
  readonly occupant: Occupant;
  /** Aborted with a `LeaseLostError` when the lease is revoked, but not when its holder releases or discards it. */
  readonly signal: AbortSignal;
  readonly #issuer: LeaseIssuer;
  readonly #ticket: LeaseTicket;

  constructor(ticket: LeaseTicket, sandbox: Sandbox, occupant: Occupant, issuer: LeaseIssuer) {
    this.id = ticket.id;
    this.generation = ticket.generation;
    this.signal = ticket.signal;
    this.sandbox = sandbox;
    this.occupant = occupant;
    this.#issuer = issuer;
    this.#ticket = ticket;
  }

  /** Extends the lease: it lasts `leaseSeconds` from now. @throws LeaseLostError */
  renew(): void {
    this.#issuer.renew(this.#ticket);
  }

  /** Tells the pool of `count` more episodes played in the sandbox. @throws LeaseLostError */
  countEpisodes(count: number): void {
    this.#issuer.countEpisodes(this.#ticket, count);
  }

  /** The number of further episodes that the sandbox may play before it is replaced. It is 0 when the lease was lost. */
  get episodesLeft(): number {
    return this.#issuer.episodesLeft(this.#ticket);
  }

  /** Returns the sandbox and has it destroyed. Has no effect when the lease was lost. @param reason for people. */
  discard(reason: string): void {
    this.#issuer.discard(this.#ticket, reason);
  }

  /** Returns the sandbox for the next holder. Has no effect when the lease was lost, released or discarded before. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#issuer.release(this.#ticket);
  }
}
