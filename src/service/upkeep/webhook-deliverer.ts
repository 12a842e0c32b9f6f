import { createHmac } from 'node:crypto';
import type { WebhookDelivery, WebhookOutbox } from '../../evaluation-store/webhook-outbox.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Deadline } from '../../kernel/deadline.ts';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { Chore } from '../../kernel/chore.ts';

/** Sends one HTTP request. */
export interface WebhookSender {
  /** @returns the status of the answer; redirects are not followed. @throws InputError when it may not be sent there; another error when there is no answer. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<number>;
}

export interface DelivererOptions {
  readonly outbox: WebhookOutbox;
  readonly sender: WebhookSender;
  /** Called for each delivery. Undefined: nothing is delivered. */
  readonly secret: () => string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

const TAKEN_AT_A_TIME = 16;
/** Each delivery is a connection. */
const MOST_UNDER_WAY = 64;
/** A receiver with this many deliveries under way gets no more, so that a slow one does not delay the others'. */
const MOST_TO_ONE_RECEIVER = 8;
const ANSWER_MILLISECONDS = 15_000;
/** Longer than sending this many and recording the results takes: until then no other process sends them. */
const TAKEN_MILLISECONDS = 60_000;
const FIRST_PAUSE_MILLISECONDS = 5000;
const LONGEST_PAUSE_MILLISECONDS = 3_600_000;
/** The last attempt comes some ten hours after the first, which outlasts a night's outage. */
const MOST_ATTEMPTS = 20;
/** Other processes may have added deliveries, or have died while sending one. */
const LOOK_AGAIN_MILLISECONDS = 60_000;

/**
 * Sends what is in the outbox until it has arrived. A receiver may get the same delivery twice (when a process dies between sending and writing it
 * down), and recognises it by its id.
 *
 * Signed as Standard Webhooks has it: `webhook-id`, `webhook-timestamp` (seconds) and `webhook-signature`, which is `v1,` and the base64 of
 * HMAC-SHA256 over `<id>.<timestamp>.<body>`.
 */
export class WebhookDeliverer {
  readonly #options: DelivererOptions;
  readonly #looking: Chore;
  readonly #underWay = new Map<WebhookDelivery, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#looking = new Chore(options.clock, () => this.#deliver());
  }

  open(): void {
    this.#looking.open();
  }

  /** Looks soon: there may be something to deliver. */
  look(): void {
    this.#looking.look();
  }

  /** Abandons deliveries under way: the next process sends them again. */
  async close(): Promise<void> {
    this.#closing.abort(new DOMException('Muster is ending', 'AbortError'));
    await this.#looking.close();
    await Promise.all(this.#underWay.values());
  }

  /** Begins with what is due. @returns milliseconds until there may be more. */
  async #deliver(): Promise<number> {
    const { outbox, clock, log, secret } = this.#options;
    if (secret() === undefined) return LOOK_AGAIN_MILLISECONDS;
    try {
      while (this.#looking.isOpen && this.#underWay.size < MOST_UNDER_WAY) {
        const deliveries = await outbox.take(TAKEN_AT_A_TIME, TAKEN_MILLISECONDS, this.#listSlowReceivers());
        for (const delivery of deliveries) this.#begin(delivery);
        if (deliveries.length < TAKEN_AT_A_TIME) break;
      }
      // When none is free, the next delivery that ends calls `look`.
      const due = this.#underWay.size < MOST_UNDER_WAY ? await outbox.findNextDue(this.#listSlowReceivers()) : undefined;
      const left = due === undefined ? Infinity : due.getTime() - clock.date().getTime();
      return Math.max(0, Math.min(left, LOOK_AGAIN_MILLISECONDS));
    } catch (error) {
      log.warn({ error: getMessage(error) }, 'webhooks could not be looked up');
      return LOOK_AGAIN_MILLISECONDS;
    }
  }

  /** Lists URLs that get nothing more until they have answered. */
  #listSlowReceivers(): readonly string[] {
    const counts = new Map<string, number>();
    for (const { url } of this.#underWay.keys()) counts.set(url, (counts.get(url) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= MOST_TO_ONE_RECEIVER).map(([url]) => url);
  }

  #begin(delivery: WebhookDelivery): void {
    const { log } = this.#options;
    const sent = this.#send(delivery)
      .catch((error: unknown) => log.warn({ webhook: delivery.id, error: getMessage(error) }, 'what came of a webhook could not be kept'))
      .finally(() => {
        this.#underWay.delete(delivery);
        this.look();
      });
    this.#underWay.set(delivery, sent);
  }

  async #send(delivery: WebhookDelivery): Promise<void> {
    const { outbox, clock, log } = this.#options;
    const failure = await this.#attemptDelivery(delivery);
    if (failure === undefined) return outbox.settle(delivery);
    if (this.#closing.signal.aborted) return;
    const fields = { evaluation: delivery.evaluation, webhook: delivery.id, attempt: delivery.attempt, failure: failure.text };
    if (failure.isFinal || delivery.attempt >= MOST_ATTEMPTS) {
      log.error(fields, 'a webhook was given up');
      return outbox.abandon(delivery, failure.text);
    }
    // The operator hears of a receiver that is not there, once for each webhook.
    log[delivery.attempt === 1 ? 'error' : 'info'](fields, 'a webhook did not arrive, and is tried again');
    const until = clock.date();
    until.setTime(until.getTime() + pauseAfter(delivery.attempt));
    return outbox.postpone(delivery, until);
  }

  async #attemptDelivery(delivery: WebhookDelivery): Promise<{ readonly text: string; readonly isFinal: boolean } | undefined> {
    const { sender, clock, secret } = this.#options;
    const body = JSON.stringify(delivery.body);
    const createTimeoutError = (): Error => new InfrastructureError('webhook.late', `no answer within ${ANSWER_MILLISECONDS / 1000} s`);
    using deadline = new Deadline(clock, ANSWER_MILLISECONDS, createTimeoutError, this.#closing.signal);
    const headers = createSignedHeaders(getWebhookId(delivery), Math.floor(clock.date().getTime() / 1000), body, secret() ?? '');
    try {
      const status = await sender.post(delivery.url, headers, body, deadline.signal);
      if (status >= 200 && status < 300) return undefined;
      // 410 Gone: the receiver will never take it.
      return { text: `it was answered with ${status}`, isFinal: status === 410 };
    } catch (error) {
      return { text: getMessage(error), isFinal: error instanceof InputError };
    }
  }
}

/** Makes the id that a receiver knows the delivery by: another store numbers its deliveries in the same way, for other evaluations. */
function getWebhookId({ evaluation, id }: WebhookDelivery): string {
  return `${evaluation}-${id}`;
}

/** @param timestamp seconds. */
export function createSignedHeaders(id: string, timestamp: number, body: string, secret: string): Readonly<Record<string, string>> {
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}

/** Returns a pause that doubles with each attempt. */
function pauseAfter(attempt: number): number {
  return Math.min(FIRST_PAUSE_MILLISECONDS * 2 ** (attempt - 1), LONGEST_PAUSE_MILLISECONDS);
}
