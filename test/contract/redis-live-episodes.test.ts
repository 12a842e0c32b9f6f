import { describe, expect, it } from 'vitest';
import { ForgivingLiveEpisodes } from '../../src/adapters/arena/forgiving-live-episodes.ts';
import { RedisLiveEpisodes } from '../../src/adapters/arena/redis/redis-live-episodes.ts';
import { parseAgentEpisodeId } from '../../src/agents/arena/episode-ids.ts';
import { createEpisodeState } from '../../src/agents/arena/plan-episode.ts';
import { createLiveEpisodesCheck } from '../../src/app/doctor/store-checks.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { eventually } from '../support/eventually.ts';
import { sampled } from '../support/full-form.ts';
import { explainMissingRedis, REDIS_KINDS, RedisServer } from '../support/redis-server.ts';
import { liveEpisodesContract } from './live-episodes.ts';

const ID = parseAgentEpisodeId('ep-live');
const live = { fence: 1, state: createEpisodeState(5) };
const signal = new AbortController().signal;

/** They speak the same protocol, so the short form takes one of them. */
describe.each(sampled(REDIS_KINDS, (kind) => kind === 'redis'))('live episodes in %s', (kind) => {
  describe.skipIf(explainMissingRedis(kind) !== undefined)('in a real server, which the set-up installs', () => {
    liveEpisodesContract(kind, async () => {
      const server = await RedisServer.start(kind);
      const subject = await RedisLiveEpisodes.open(server.url, systemClock);
      return {
        live: subject,
        [Symbol.asyncDispose]: async () => {
          await subject[Symbol.asyncDispose]();
          await server[Symbol.asyncDispose]();
        },
      };
    });

    it('are shared by two Musters, of which the later holder wins, and are forgotten by themselves in a day', async () => {
      await using server = await RedisServer.start(kind);
      await using one = await RedisLiveEpisodes.open(server.url, systemClock);
      await using other = await RedisLiveEpisodes.open(server.url.replace('redis:', 'valkey:'), systemClock);
      const puts = await Promise.all([1, 2, 3, 4].map((fence) => (fence % 2 === 0 ? one : other).put(ID, { ...live, fence })));
      expect(puts).toContain(true);
      expect(await one.get(ID)).toMatchObject({ fence: 4 });
      expect(await other.put(ID, { ...live, fence: 3 })).toBe(false);
      expect(await server.secondsLeft('muster:episode:ep-live')).toBeGreaterThan(86_000);
    });

    it('are ignored when another program has written them', async () => {
      await using server = await RedisServer.start(kind);
      await using subject = await RedisLiveEpisodes.open(server.url, systemClock);
      for (const state of ['{', '[]', JSON.stringify({ ...live.state, phase: { kind: 'dancing' } })]) {
        await server.set('muster:episode:ep-live', { fence: '0', steps: '0', state });
        expect(await subject.get(ID)).toBeUndefined();
      }
      expect(await subject.put(ID, live)).toBe(true);
      expect(await subject.get(ID)).toEqual(live);
    });

    it('are unknown while the server is down or hangs, and known again afterwards', async () => {
      await using server = await RedisServer.start(kind);
      await using redis = await RedisLiveEpisodes.open(server.url, systemClock);
      const clock = new ManualClock();
      const warnings: string[] = [];
      const log = {
        debug: () => undefined,
        info: () => undefined,
        warn: (_: object, text: string) => warnings.push(text),
        error: () => undefined,
      };
      const subject = new ForgivingLiveEpisodes(redis, clock, log);
      expect(await subject.put(ID, live)).toBe(true);
      {
        using _paused = server.pause();
        await expect(redis.get(ID)).rejects.toMatchObject({
          code: 'live.failed',
          message: `arena.live: ${server.url} cannot be used: no answer within 1000 ms`,
        });
        expect(await subject.get(ID)).toBeUndefined();
        // Within the pause nothing is asked.
        expect(await subject.put(ID, live)).toBe(false);
        expect(warnings).toHaveLength(1);
      }
      await server.kill();
      await clock.advance(6000);
      expect(await subject.get(ID)).toBeUndefined();
      await subject.remove(ID);
      await server.startAgain();
      await eventually('it is connected again', async () => {
        await clock.advance(6000);
        return await subject.put(ID, live);
      });
      expect(await subject.get(ID)).toEqual(live);
    });

    it('need the server’s password, and doctor names the server', async () => {
      await using server = await RedisServer.start(kind, 'open-sesame');
      await using subject = await RedisLiveEpisodes.open(server.url, systemClock);
      expect(await subject.put(ID, live)).toBe(true);
      for (const password of ['', ':wrong@']) {
        const url = server.url.replace(':open-sesame@', password);
        const refused = await RedisLiveEpisodes.open(url, systemClock).then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(refused).toMatchObject({ code: 'arena.live', message: expect.stringContaining('refuses the connection') });
        expect(refused).not.toMatchObject({ message: expect.stringMatching(/wrong@|sesame/) });
      }
      expect(await createLiveEpisodesCheck(server.url).run(signal)).toEqual({ status: 'ok', found: expect.stringMatching(`^${kind} \\d`) });
    });
  });
});

describe('live episodes in an unreachable server', () => {
  it('are refused at the start with the name of the setting, and doctor gives the remedy', async () => {
    await expect(RedisLiveEpisodes.open('redis://127.0.0.1:1', systemClock)).rejects.toMatchObject({ code: 'live.unreachable' });
    for (const url of ['http://127.0.0.1', 'redis', 'redis://'])
      await expect(RedisLiveEpisodes.open(url, systemClock)).rejects.toMatchObject({ code: 'arena.live' });
    expect(await createLiveEpisodesCheck('redis://127.0.0.1:1').run(signal)).toMatchObject({
      status: 'problem',
      found: expect.stringContaining('cannot be reached'),
      remedy: expect.stringContaining('arena.live: memory'),
    });
  });
});
