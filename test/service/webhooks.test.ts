import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/kernel/errors.ts';
import { WebhookDeliverer, type WebhookSender } from '../../src/service/upkeep/webhook-deliverer.ts';
import { running } from '../support/store-fixture.ts';
import { ServiceFixture } from '../support/service-fixture.ts';

const SECRET = 'a secret of the two';
const URL = 'https://example.org/hook';

interface Received {
  readonly at: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers with the statuses that it was given, one after the other, and then with the last of them. `undefined`: never. */
class Receiver implements WebhookSender {
  readonly received: Received[] = [];
  readonly #statuses: (number | undefined)[];
  readonly #fixture: ServiceFixture;

  constructor(fixture: ServiceFixture, ...statuses: (number | undefined)[]) {
    this.#fixture = fixture;
    this.#statuses = statuses;
  }

  post(_url: string, headers: Received['headers'], body: string, signal: AbortSignal): Promise<number> {
    this.received.push({ at: this.#fixture.clock.now(), headers, body });
    const status = this.#statuses.length > 1 ? this.#statuses.shift() : this.#statuses[0];
    if (status !== undefined) return Promise.resolve(status);
    const { promise, reject } = Promise.withResolvers<number>();
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    return promise;
  }
}

async function ended(fixture: ServiceFixture, url = URL): Promise<void> {
  const ownership = await running(fixture.store);
  await fixture.store.course.conclude(ownership, { state: 'finished', webhooks: [{ url, body: { state: 'finished' } }] });
}

function deliverer(fixture: ServiceFixture, sender: WebhookSender): WebhookDeliverer {
  const { clock, log, store } = fixture;
  return new WebhookDeliverer({ outbox: store.webhooks, sender, secret: () => SECRET, clock, log });
}

describe('a webhook', () => {
  it('is sent once, signed over id, time and body', async () => {
    const fixture = new ServiceFixture();
    await ended(fixture);
    const receiver = new Receiver(fixture, 204);
    const webhooks = deliverer(fixture, receiver);
    webhooks.open();
    await fixture.clock.advance(3_600_000);
    const [first, ...others] = receiver.received;
    expect(others).toEqual([]);
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = first?.headers ?? {};
    expect(signature).toBe(`v1,${createHmac('sha256', SECRET).update(`${id}.${time}.${first?.body}`).digest('base64')}`);
    expect(Number(time)).toBe(Math.floor(Date.UTC(2026, 0, 1) / 1000));
    await webhooks.close();
    expect(fixture.clock.pending).toBe(0);
  });

  it('that does not arrive is sent again after growing pauses', async () => {
    const fixture = new ServiceFixture();
    await ended(fixture);
    const receiver = new Receiver(fixture, 500, 302, 404, 200);
    const webhooks = deliverer(fixture, receiver);
    webhooks.open();
    await fixture.clock.advance(3_600_000);
    expect(receiver.received.map(({ at }) => at)).toEqual([0, 5000, 15_000, 35_000]);
    const [evaluation] = (await fixture.store.evaluations.list({}, { limit: 1 })).items;
    const [id, ...others] = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
    expect(others).toEqual([]);
    expect(id).toMatch(new RegExp(`^${evaluation?.id}-\\d+$`));
    await webhooks.close();
  });

  it('to a receiver that is gone for good is given up at once, and to a silent one in the end', async () => {
    const fixture = new ServiceFixture();
    await ended(fixture);
    const gone = new Receiver(fixture, 410);
    const first = deliverer(fixture, gone);
    first.open();
    await fixture.clock.advance(3_600_000);
    expect(gone.received).toHaveLength(1);
    await first.close();
    await ended(fixture);
    const silent = new Receiver(fixture, undefined);
    const second = deliverer(fixture, silent);
    second.open();
    await fixture.clock.advance(3 * 86_400_000);
    expect(silent.received).toHaveLength(20);
    const late = 'a webhook did not arrive, and is tried again';
    expect(fixture.errors).toEqual(['a webhook was given up', late, 'a webhook was given up']);
    await second.close();
    expect(fixture.clock.pending).toBe(0);
  });

  it('to a forbidden address is given up at once', async () => {
    const fixture = new ServiceFixture();
    await ended(fixture);
    let asked = 0;
    const sender: WebhookSender = {
      post: async () => {
        asked += 1;
        throw new InputError('egress.address', 'inside.example.com has no public address');
      },
    };
    const webhooks = deliverer(fixture, sender);
    webhooks.open();
    await fixture.clock.advance(3_600_000);
    expect(asked).toBe(1);
    expect(fixture.errors).toEqual(['a webhook was given up']);
    await webhooks.close();
  });

  it('that was not finished when the process ended is sent by the next process', async () => {
    const fixture = new ServiceFixture();
    await ended(fixture);
    const silent = new Receiver(fixture, undefined);
    const dying = deliverer(fixture, silent);
    dying.open();
    await fixture.clock.advance(1000);
    await dying.close();
    expect(silent.received).toHaveLength(1);
    const receiver = new Receiver(fixture, 200);
    const next = deliverer(fixture, receiver);
    next.open();
    await fixture.clock.advance(200_000);
    expect(receiver.received).toHaveLength(1);
    await next.close();
    expect(fixture.clock.pending).toBe(0);
  });

  it('to a silent receiver does not delay others, and few are in flight', async () => {
    const fixture = new ServiceFixture();
    for (let i = 0; i < 100; i += 1) await ended(fixture);
    for (let i = 0; i < 5; i += 1) await ended(fixture, `https://example.org/quick/${i}`);
    const silent = new Receiver(fixture, undefined);
    const quick: string[] = [];
    const sender: WebhookSender = {
      post: async (url, ...rest) => {
        if (url === URL) return silent.post(url, ...rest);
        quick.push(url);
        return 200;
      },
    };
    const webhooks = deliverer(fixture, sender);
    webhooks.open();
    await fixture.clock.advance(1000);
    expect(quick).toHaveLength(5);
    expect(silent.received.length).toBeGreaterThan(0);
    expect(silent.received.length).toBeLessThanOrEqual(24);
    await fixture.clock.advance(3 * 86_400_000);
    // Twenty attempts each, and none was forgotten.
    expect(silent.received).toHaveLength(2000);
    expect(fixture.errors.filter((message) => message === 'a webhook was given up')).toHaveLength(100);
    await webhooks.close();
    expect(fixture.clock.pending).toBe(0);
  });

  it('is sent as soon as its evaluation is over', async () => {
    const fixture = new ServiceFixture();
    const receiver = new Receiver(fixture, 200);
    const webhooks = deliverer(fixture, receiver);
    webhooks.open();
    await fixture.clock.advance(100);
    await ended(fixture);
    webhooks.look();
    await fixture.clock.advance(0);
    expect(receiver.received).toHaveLength(1);
    await webhooks.close();
  });
});
