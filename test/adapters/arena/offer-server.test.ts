import { request } from 'node:http';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { OfferServer } from '../../../src/adapters/arena/offers/offer-server.ts';
import { ExternalEpisode } from '../../../src/agents/acting/external/external-episode.ts';
import { toObservation } from '../../../src/agents/actions/observation-text.ts';
import { InfrastructureError } from '../../../src/kernel/errors.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/free-port.ts';
import { ManualClock } from '../../support/manual-clock.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const takenSchema = z.looseObject({ episode: z.string(), steps: z.int(), links: z.looseObject({ self: z.string(), steps: z.string() }) });
type Taken = z.infer<typeof takenSchema>;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** A server that offers an episode of three steps. What is sent as `run` is written down. */
class OfferFixture implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly ran: unknown[] = [];
  readonly server: OfferServer;
  readonly #key: string | undefined;

  private constructor(server: OfferServer, clock: ManualClock, key: string | undefined) {
    this.server = server;
    this.clock = clock;
    this.#key = key;
  }

  static async open(key?: string): Promise<OfferFixture> {
    const clock = new ManualClock();
    return new OfferFixture(await OfferServer.listen(`127.0.0.1:${await freePort()}`, key, clock), clock, key);
  }

  episode(isLost = false): ExternalEpisode {
    const observation = toObservation({ kind: 'task', instruction: 'do', workdir: '/app' });
    const limits = { steps: 3, seconds: 10, bytesWritten: 1e9, output: 1e9, idleSeconds: 60 };
    return new ExternalEpisode({
      opening: { task: 'test/task', seed: 7, observation, limits, actions: [] },
      patienceSeconds: 30,
      address: this.server.address,
      clock: this.clock,
      perform: async (body) => {
        if (isLost) throw new InfrastructureError('workspace.lost', 'the workspace is gone');
        this.ran.push(body);
        const { action } = z.looseObject({ action: z.string() }).parse(body);
        return {
          observation: toObservation(action === 'submit' ? { kind: 'submitted' } : { kind: 'started', name: 'x' }),
          bytesWritten: 0,
        };
      },
    });
  }

  async call(method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const given = { ...(body && { 'content-type': 'application/json' }), ...(this.#key && { authorization: `Bearer ${this.#key}` }) };
    const answer = await fetch(this.server.address + path, {
      method,
      headers: { ...given, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  async take(): Promise<Taken> {
    const { status, body } = await this.call('POST', '/v1/episodes', { agent: 'me', wait: 0 });
    expect(status).toBe(201);
    return takenSchema.parse(body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    expect(this.clock.pending).toBe(0);
  }
}

/** Why an episode ended, or the code of what it was lost by. */
async function codeOf(ended: Promise<string>): Promise<unknown> {
  return ended.catch((error: unknown) => (error instanceof InfrastructureError ? error.code : error));
}

const says = (code: string): object => ({ code, detail: expect.any(String) });

describe('a server that offers episodes to agents outside of Muster', () => {
  it('hands an episode to one agent, which finds it again, and answers steps as the arena does', async () => {
    await using offers = await OfferFixture.open();
    using episode = offers.episode();
    using _offer = offers.server.offer(episode);
    const { links, ...taken } = await offers.take();
    expect(taken).toMatchObject({ task: 'test/task', seed: 7, agent: 'me', steps: 0, observation: { data: { instruction: 'do' } } });
    expect(await offers.call('POST', '/v1/episodes', { wait: 0 })).toEqual({ status: 204, body: undefined });
    const step = (body: object): Promise<Answer> => offers.call('POST', links.steps, body);
    const first = await step({ step: 1, action: 'start' });
    expect(first).toMatchObject({ status: 200, body: { step: 1, done: false, remaining: { steps: 2 } } });
    expect(await step({ step: 1, action: 'start' })).toEqual(first);
    expect(await step({ step: 1, action: 'stop' })).toMatchObject({ status: 409, body: says('step.conflict') });
    expect(await step({ step: 3, action: 'stop' })).toMatchObject({ status: 409, body: says('step.gap') });
    expect(await step({ step: 0 })).toMatchObject({ status: 400, body: says('request.invalid') });
    // An agent that was started again finds what it had.
    const { body } = await offers.call('GET', '/v1/episodes');
    expect(body).toMatchObject({ items: [{ episode: taken.episode, steps: 1 }] });
    expect(await step({ action: 'submit' })).toMatchObject({ body: { step: 2, done: true, truncated: false } });
    expect(await step({ action: 'submit' })).toMatchObject({ status: 409, body: says('episode.over') });
    expect(await episode.ended).toBe('submit');
    expect(offers.ran).toEqual([{ action: 'start' }, { action: 'submit' }]);
  });

  it('ends an episode at its limits, when the agent gives it up or falls silent, and loses it when no agent comes or its workspace is gone', async () => {
    await using offers = await OfferFixture.open();
    const endings: Readonly<Record<string, (taken: Taken) => Promise<unknown>>> = {
      steps: async ({ links }) => {
        for (const step of [1, 2]) await offers.call('POST', links.steps, { step, action: 'start' });
        return offers.call('POST', links.steps, { step: 3, action: 'start' });
      },
      abandoned: ({ links }) => offers.call('DELETE', links.self),
      expired: () => offers.clock.advance(60_000),
      'workspace.lost': ({ links }) => offers.call('POST', links.steps, { step: 1, action: 'start' }),
    };
    const seen: Record<string, unknown> = {};
    for (const [end, bring] of Object.entries(endings)) {
      using episode = offers.episode(end === 'workspace.lost');
      using _offer = offers.server.offer(episode);
      const ended = codeOf(episode.ended);
      seen[end] = await bring(await offers.take());
      expect(await ended).toBe(end);
    }
    expect(seen).toEqual({
      steps: { status: 200, body: expect.objectContaining({ done: true, truncated: true }) },
      abandoned: { status: 204, body: undefined },
      expired: undefined,
      'workspace.lost': { status: 503, body: expect.objectContaining({ code: 'workspace.lost' }) },
    });
    using untaken = offers.episode();
    using _offer = offers.server.offer(untaken);
    const ended = codeOf(untaken.ended);
    await offers.clock.advance(30_000);
    expect(await ended).toBe('agent.absent');
  });

  it('gives an agent that waits the next episode that is offered, and none to one that has hung up', async () => {
    await using offers = await OfferFixture.open();
    const hungUp = request(`${offers.server.address}/v1/episodes`, { method: 'POST' }).on('error', () => undefined);
    hungUp.end();
    await eventually('one agent waits', () => offers.clock.pending === 1);
    hungUp.destroy();
    await eventually('none waits any more', () => offers.clock.pending === 0);
    const waiting = offers.call('POST', '/v1/episodes', {});
    await eventually('another one waits', () => offers.clock.pending === 1);
    using episode = offers.episode();
    using _offer = offers.server.offer(episode);
    expect(await waiting).toMatchObject({ status: 201 });
  });

  it('lets in only this machine and holders of the key, and says where it cannot listen', async () => {
    await using offers = await OfferFixture.open();
    expect(await offers.call('GET', '/v1/episodes', undefined, { origin: 'https://example.org' })).toMatchObject({
      status: 403,
      body: says('access.not-local'),
    });
    expect(await offers.call('POST', '/v1/episodes', { task: 'mine' })).toMatchObject({ status: 400, body: says('request.invalid') });
    expect(await offers.call('GET', '/v1/other')).toMatchObject({ status: 404, body: says('route.not-found') });
    expect(await offers.call('POST', '/v1/episodes/ep-0/steps', { action: 'submit' })).toMatchObject({
      status: 409,
      body: says('episode.over'),
    });
    await using locked = await OfferFixture.open('secret');
    expect(await locked.call('GET', '/v1/episodes', undefined, { authorization: 'Bearer wrong' })).toMatchObject({
      status: 401,
      body: says('access.key'),
    });
    expect(await locked.call('GET', '/v1/episodes')).toEqual({ status: 200, body: { items: [] } });
    const clock = new ManualClock();
    await expect(OfferServer.listen(new URL(offers.server.address).host, undefined, clock)).rejects.toThrow(
      /listen: 127\.0\.0\.1:\d+ cannot be/,
    );
    await expect(OfferServer.listen('0.0.0.0:7700', undefined, clock)).rejects.toThrow('set keyVariable, or listen on 127.0.0.1');
  });
});
