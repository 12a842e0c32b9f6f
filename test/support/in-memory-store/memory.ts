import type { Question } from '../../../src/evaluation-store/answer-cache.ts';
import type { NewEpisode } from '../../../src/evaluation-store/episode-log.ts';
import type { NewWebhook } from '../../../src/evaluation-store/webhook-outbox.ts';
import type { NewEvent, StoredEvent } from '../../../src/evaluation-store/event-log.ts';
import type { EvaluationState, StoredEvaluation } from '../../../src/evaluation-store/evaluation-record.ts';
import { OwnershipLostError, type Ownership } from '../../../src/evaluation-store/ownership.ts';
import type { StoredAuditEntry } from '../../../src/evaluation-store/audit-trail.ts';
import type { Brought, StoredGrant } from '../../../src/evaluation-store/checkpoint-rights.ts';
import type { StoredToken } from '../../../src/evaluation-store/tokens.ts';
import type { WebhookDelivery } from '../../../src/evaluation-store/webhook-outbox.ts';
import type { Clock } from '../../../src/kernel/clock.ts';
import type { Digest, EvaluationId, TokenId } from '../../../src/kernel/ids.ts';

/** An evaluation with all that belongs to it. */
export interface Held {
  readonly key: number;
  evaluation: StoredEvaluation;
  readonly events: StoredEvent[];
  readonly legs: Map<number, Map<number, NewEpisode>>;
  /** Keys under which others find the episodes of an arm. */
  readonly donates: Map<number, Set<Digest>>;
  /** Episodes that were appended, by the time of it. */
  readonly played: { readonly at: number; readonly episodes: number }[];
  ownership: { readonly owner: string; readonly fence: number; readonly expiresAt: number } | undefined;
}

export interface HeldWebhook {
  delivery: WebhookDelivery;
  /** Undefined once it was given up. */
  dueAt: number | undefined;
}

/** What an in-memory store holds: it is as good as its process. Everything happens at once, so everything is a transaction. */
export class Memory {
  readonly evaluations = new Map<EvaluationId, Held>();
  readonly idempotency = new Map<string, { readonly fingerprint: Digest; readonly id: EvaluationId }>();
  /** Who was answered last. */
  readonly answers = new Map<Question, EvaluationId>();
  readonly webhooks = new Map<number, HeldWebhook>();
  readonly audit: StoredAuditEntry[] = [];
  readonly tokens = new Map<TokenId, StoredToken>();
  /** Bytes, by principal and digest. */
  readonly chargedCheckpoints = new Map<string, Map<Digest, number>>();
  readonly broughtCheckpoints: (Brought & { readonly at: number })[] = [];
  checkpointGrants: readonly StoredGrant[] = [];
  readonly #clock: Clock;
  #lastNumber = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get now(): number {
    return this.#clock.date().getTime();
  }

  nextNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  /** @throws OwnershipLostError */
  owned(ownership: Ownership): Held {
    const held = this.evaluations.get(ownership.evaluation);
    const { owner, fence } = held?.ownership ?? {};
    if (!held || owner !== ownership.owner || fence !== ownership.fence) throw new OwnershipLostError(ownership);
    return held;
  }

  tell(held: Held, { type, data }: NewEvent): void {
    held.events.push({ sequence: held.events.length + 1, type, data: copyOf(data), at: new Date(this.now) });
  }

  enter(held: Held, state: EvaluationState, changes: Partial<StoredEvaluation>): void {
    held.evaluation = { ...held.evaluation, ...changes, state };
    this.tell(held, { type: 'state', data: { state } });
  }

  announce(held: Held, webhooks: readonly NewWebhook[]): void {
    for (const { url, body } of webhooks) {
      const id = this.nextNumber();
      const delivery = { id, evaluation: held.evaluation.id, url, body: copyOf(body), attempt: 0 };
      this.webhooks.set(id, { delivery, dueAt: this.now });
    }
  }
}

export function isOpen({ evaluation }: Held): boolean {
  return evaluation.state === 'waiting' || evaluation.state === 'running';
}

/** As it would come back from JSON. */
export function copyOf(document: object): unknown {
  return JSON.parse(JSON.stringify(document));
}
