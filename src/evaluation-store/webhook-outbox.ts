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
  /** Includes this attempt. The taker's report about the delivery counts only while no other taker has it. */
  readonly attempt: number;
}

/** Webhooks that have not been delivered yet. They are added together with the end of their evaluation. */
export interface WebhookOutbox {
  /**
   * Takes due deliveries, longest due first. Each becomes due again after `milliseconds` unless the taker reports on it before.
   *
   * @param except URLs whose deliveries are skipped.
   */
  take(limit: number, milliseconds: number, except?: readonly string[]): Promise<readonly WebhookDelivery[]>;

  /** Records that the webhook was delivered. */
  settle(delivery: WebhookDelivery): Promise<void>;

  postpone(delivery: WebhookDelivery, until: Date): Promise<void>;

  /** Gives the delivery up for good, and stores the reason. */
  abandon(delivery: WebhookDelivery, reason: string): Promise<void>;

  /** Returns when the next delivery to any other URL becomes due; undefined when none waits. */
  findNextDue(except?: readonly string[]): Promise<Date | undefined>;
}
