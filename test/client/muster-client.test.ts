import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MusterClient, type FollowedEvent } from '../../src/client/muster-client.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { ServerScene } from '../support/server-scene.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));
afterAll(() => nock.disableNetConnect());

interface Connected extends AsyncDisposable {
  readonly client: MusterClient;
  readonly server: ServerScene;
  /** Lets time pass at the server until the promise is settled. */
  during<Value>(promise: Promise<Value>): Promise<Value>;
}

/** A client of a server on a real socket, which has a clock of its own. */
async function connected(): Promise<Connected> {
  const server = await ServerScene.open();
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 });
  return {
    client: new MusterClient(url, server.scene.clock),
    server,
    during: (promise) => server.scene.clock.advanceFor(promise, 1_000_000, 10),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const ASKED = { suite: '5-episodes', checkpoint: { uri: '/late', run: 'r', version: 1 } };
const { signal } = new AbortController();

describe('a client of a server', () => {
  it('submits, follows to the end without missing or repeating an event, and gets the answer', async () => {
    await using scene = await connected();
    const { client } = scene;
    const { id } = await client.submit(ASKED, { idempotencyKey: 'a' });
    const events: FollowedEvent[] = [];
    const following = (async () => {
      for await (const event of client.follow(id, signal)) events.push(event);
    })();
    await scene.during(following);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => i + 1));
    expect(events.at(-1)).toMatchObject({ type: 'state', data: { state: 'finished' } });
    expect(await client.find(id)).toMatchObject({ state: 'finished', summary: { official: { episodes: 5 } } });
    expect((await client.submit(ASKED, { idempotencyKey: 'a' })).id).toBe(id);
  });

  it('lists across pages, and cancels', async () => {
    await using scene = await connected();
    const { client } = scene;
    for (let i = 0; i < 5; i += 1) await client.submit({ ...ASKED, suite: '1000-episodes' }, { idempotencyKey: `${i}` });
    const listed: string[] = [];
    for await (const { id } of client.list({ limit: '2', run: 'r' })) listed.push(id);
    expect(new Set(listed).size).toBe(5);
    await client.cancel(listed[0] ?? '');
    expect(['running', 'cancelled']).toContain((await client.find(listed[0] ?? '')).state);
  });

  it('is told by an error what the server refuses, with its code', async () => {
    await using scene = await connected();
    await expect(scene.client.submit({ ...ASKED, suite: 'unknown' }, { idempotencyKey: 'a' })).rejects.toMatchObject({
      kind: 'input',
      code: 'suite.unknown',
    });
    await expect(scene.client.find('nothing')).rejects.toMatchObject({ kind: 'input', code: 'evaluation.not-found' });
  });

  it('tries again what a server cannot serve now', async () => {
    const site = nock('http://muster.test').get('/v1/pools').reply(503, 'not now').get('/v1/pools').reply(200, { items: [] });
    expect(await new MusterClient('http://muster.test', systemClock, { retryMilliseconds: 0 }).pools()).toEqual([]);
    expect(site.isDone()).toBe(true);
  });
});
