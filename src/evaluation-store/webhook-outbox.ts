import type { EvaluationId } from '../kernel/ids.ts';

export interface NewWebhook {
  readonly url: string;
  /** JSON. */
  readonly body: object;
}

export interface WebhookDelivery {
  readonly id: number;
  readonly evaluation: EvaluationId;
  readonly url: string;
  readonly body: unknown;
  /** This one included; what the taker then says of the delivery counts only while no other has taken it. */
  readonly attempt: number;
}

/** Webhooks that have not arrived yet. They are put in with the end of their evaluation. */
export interface WebhookOutbox {
  /**
   * Due deliveries, longest due first. Each is due again after `milliseconds`, should the taker not come back to it.
   *
   * @param except URLs for which none is wanted now.
   */
  take(limit: number, milliseconds: number, except?: readonly string[]): Promise<readonly WebhookDelivery[]>;

  /** It has arrived. */
  settle(delivery: WebhookDelivery): Promise<void>;

  postpone(delivery: WebhookDelivery, until: Date): Promise<void>;

  /** Gives it up; it is kept with the reason, and never due again. */
  abandon(delivery: WebhookDelivery, reason: string): Promise<void>;

  /** When the next one is due that goes to none of these URLs; undefined when none waits. */
  nextDue(except?: readonly string[]): Promise<Date | undefined>;
}
