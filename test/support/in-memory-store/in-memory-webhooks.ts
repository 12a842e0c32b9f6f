import type { WebhookDelivery, WebhookOutbox } from '../../../src/evaluation-store/webhook-outbox.ts';
import type { HeldWebhook } from './memory.ts';
import { InMemoryPart } from './in-memory-part.ts';

export class InMemoryWebhooks extends InMemoryPart implements WebhookOutbox {
  async take(limit: number, milliseconds: number, except: readonly string[] = []): Promise<readonly WebhookDelivery[]> {
    const { now } = this.memory;
    return this.#due(except)
      .filter(({ dueAt }) => dueAt <= now)
      .slice(0, limit)
      .map(({ held }) => {
        held.dueAt = now + milliseconds;
        held.delivery = { ...held.delivery, attempt: held.delivery.attempt + 1 };
        return held.delivery;
      });
  }

  async settle(delivery: WebhookDelivery): Promise<void> {
    if (this.#present(delivery)) this.memory.webhooks.delete(delivery.id);
  }

  async postpone(delivery: WebhookDelivery, until: Date): Promise<void> {
    const held = this.#present(delivery);
    if (held) held.dueAt = until.getTime();
  }

  async abandon(delivery: WebhookDelivery): Promise<void> {
    const held = this.#present(delivery);
    if (held) held.dueAt = undefined;
  }

  async findNextDue(except: readonly string[] = []): Promise<Date | undefined> {
    const [first] = this.#due(except);
    return first && new Date(first.dueAt);
  }

  #due(except: readonly string[]): { readonly held: HeldWebhook; readonly dueAt: number }[] {
    const due = [...this.memory.webhooks.values()].flatMap((held) =>
      held.dueAt === undefined || except.includes(held.delivery.url) ? [] : [{ held, dueAt: held.dueAt }],
    );
    return due.sort((a, b) => a.dueAt - b.dueAt || a.held.delivery.id - b.held.delivery.id);
  }

  /** Undefined when another has taken it meanwhile. */
  #present({ id, attempt }: WebhookDelivery): HeldWebhook | undefined {
    const held = this.memory.webhooks.get(id);
    return held?.delivery.attempt === attempt ? held : undefined;
  }
}
