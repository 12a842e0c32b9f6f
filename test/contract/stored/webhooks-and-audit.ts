import { expect } from 'vitest';
import type { EvaluationStore } from '../../../src/evaluation-store/evaluation-store.ts';
import type { WebhookDelivery } from '../../../src/evaluation-store/webhook-outbox.ts';
import { running } from '../../support/store-fixture.ts';
import type { Case } from '../evaluation-store.ts';

const MINUTE = 60_000;

export const webhooksAndAudit: Readonly<Record<string, Case>> = {
  async 'a delivery is taken by one, and is due again unless that one comes back to it'({ open, clock }) {
    await using store = await open();
    await concluded(store, 3);
    const [some, others] = await Promise.all([store.webhooks.take(2, MINUTE), store.webhooks.take(2, MINUTE)]);
    expect([...some, ...others].map(({ body }) => body).sort(byNumber)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
    expect([...some, ...others].map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    expect(await store.webhooks.take(10, MINUTE)).toEqual([]);
    await clock.advance(MINUTE);
    expect((await store.webhooks.take(10, MINUTE)).map(({ attempt }) => attempt)).toEqual([2, 2, 2]);
  },

  async 'what is for a receiver that is left out stays, and is due when all are requested'({ open, clock }) {
    await using store = await open();
    await concluded(store, 3);
    const except = ['https://example.com/0', 'https://example.com/2'];
    expect((await store.webhooks.take(10, MINUTE, except)).map(({ url }) => url)).toEqual(['https://example.com/1']);
    expect(await store.webhooks.findNextDue(except)).toEqual(new Date(clock.date().getTime() + MINUTE));
    expect(await store.webhooks.findNextDue()).toEqual(clock.date());
    expect((await store.webhooks.take(10, MINUTE)).map(({ url }) => url).sort()).toEqual(except);
  },

  async 'what has arrived is not delivered again'({ open, clock }) {
    await using store = await open();
    const evaluation = await concluded(store, 1);
    const delivery = await taken(store);
    expect(delivery).toMatchObject({ evaluation, url: 'https://example.com/0', body: { n: 0 } });
    await store.webhooks.settle(delivery);
    await clock.advance(2 * MINUTE);
    expect(await store.webhooks.take(10, MINUTE)).toEqual([]);
    expect(await store.webhooks.findNextDue()).toBeUndefined();
  },

  async 'a delivery can be put off'({ open, clock }) {
    await using store = await open();
    await concluded(store, 1);
    const until = new Date(clock.date().getTime() + 5 * MINUTE);
    await store.webhooks.postpone(await taken(store), until);
    expect(await store.webhooks.findNextDue()).toEqual(until);
    await clock.advance(5 * MINUTE - 1);
    expect(await store.webhooks.take(10, MINUTE)).toEqual([]);
    await clock.advance(1);
    expect((await taken(store)).attempt).toBe(2);
  },

  async 'a late owner does not change a delivery'({ open, clock }) {
    await using store = await open();
    await concluded(store, 1);
    const late = await taken(store);
    await clock.advance(MINUTE);
    const present = await taken(store);
    await store.webhooks.settle(late);
    await store.webhooks.abandon(late, 'too often');
    await store.webhooks.postpone(late, clock.date());
    expect(await store.webhooks.take(10, MINUTE)).toEqual([]);
    await clock.advance(MINUTE);
    expect((await taken(store)).attempt).toBe(present.attempt + 1);
  },

  async 'a delivery that was given up is never due again'({ open, clock }) {
    await using store = await open();
    await concluded(store, 1);
    await store.webhooks.abandon(await taken(store), 'the host says 410 Gone');
    await clock.advance(1000 * MINUTE);
    expect(await store.webhooks.take(10, MINUTE)).toEqual([]);
    expect(await store.webhooks.findNextDue()).toBeUndefined();
  },

  async 'who changed what can be read back, latest first'({ open, clock }) {
    await using store = await open();
    for (let i = 0; i < 7; i += 1) {
      if (i % 2 === 0) await clock.advance(1000);
      await store.audit.record({ principal: 'operator', action: 'pool.scale', target: 'local', details: { i } });
    }
    const seen: unknown[] = [];
    let after: string | undefined;
    do {
      const page = await store.audit.list({ limit: 3, after });
      seen.push(...page.items.map(({ details }) => details));
      after = page.next;
      await store.audit.record({ principal: 'operator', action: 'pool.drain', target: 'local', details: {} });
    } while (after !== undefined);
    expect(seen).toEqual([6, 5, 4, 3, 2, 1, 0].map((i) => ({ i })));
    await expect(store.audit.list({ limit: 3, after: 'nonsense' })).rejects.toMatchObject({ code: 'cursor.invalid' });
  },
};

async function concluded(store: EvaluationStore, webhooks: number): Promise<string> {
  const owned = await running(store);
  const hooks = Array.from({ length: webhooks }, (_, n) => ({ url: `https://example.com/${n}`, body: { n } }));
  await store.course.conclude(owned, { state: 'finished', webhooks: hooks });
  return owned.evaluation;
}

async function taken(store: EvaluationStore): Promise<WebhookDelivery> {
  const [delivery] = await store.webhooks.take(1, MINUTE);
  if (!delivery) throw new Error('nothing is due');
  return delivery;
}

function byNumber(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
