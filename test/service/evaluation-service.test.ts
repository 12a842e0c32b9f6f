import { describe, expect, it, vi } from 'vitest';
import { STATISTICS_VERSION } from '../../src/aggregation/statistics-version.ts';
import type { StoredEvent } from '../../src/evaluation-store/event-log.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { InfrastructureError } from '../../src/kernel/errors.ts';
import { parseOwnerId } from '../../src/kernel/ids.ts';
import { raceWithAbort } from '../../src/kernel/abort.ts';
import { parseOrder } from '../../src/service/orders/evaluation-order.ts';
import type { Library } from '../../src/service/orders/library.ts';
import { settle } from '../support/manual-clock.ts';
import type { Submission } from '../../src/service/acceptance/submission.ts';
import { EPISODE_MS, OWNERSHIP_MS, PAPER_LIBRARY, ServiceFixture, submission, submitted } from '../support/service-fixture.ts';

const { signal } = new AbortController();

function range(to: number): readonly number[] {
  return Array.from({ length: to }, (_, i) => i);
}

describe('an evaluation that was accepted', () => {
  it('waits, is played, and ends with its answer', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    const id = await submitted(service, submission(10));
    expect(await fixture.find(id)).toMatchObject({ state: 'waiting', suite: '10 episodes' });
    await fixture.clock.advance(10 * EPISODE_MS);
    expect(await fixture.find(id)).toMatchObject({ state: 'finished', summary: { partial: false, official: { episodes: 10 } } });
    expect(await fixture.stored(id)).toEqual(range(10));
    await fixture.drained(service);
    expect(fixture.clock.pending).toBe(0);
    expect(fixture.warnings).toEqual([]);
  });

  it('waits, also after it was claimed, until it has had a sandbox', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened({}, { places: 1 });
    const first = await submitted(service, submission(10));
    const second = await submitted(service, submission(5, {}, 'other'));
    await fixture.clock.advance(3 * EPISODE_MS);
    expect([(await fixture.find(first)).state, (await fixture.find(second)).state]).toEqual(['running', 'waiting']);
    await fixture.clock.advance(15 * EPISODE_MS);
    expect(await fixture.find(second)).toMatchObject({ state: 'finished', startedAt: expect.any(Date) });
  });

  it('reports its progress at a bounded rate, and its last figures before its end', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened({ reportMilliseconds: 1000 });
    const id = await submitted(service, submission(35));
    await fixture.clock.advance(2500);
    expect(await fixture.find(id)).toMatchObject({ state: 'running', running: { kind: 'evaluation', mean: 0.5 } });
    await fixture.clock.advance(1500);
    const events = await fixture.store.events.readAfter(id, 0, 100);
    expect(events.map(({ type }) => type)).toEqual(['state', 'state', 'progress', 'progress', 'progress', 'progress', 'state']);
    expect(events.at(-2)?.data).toMatchObject({ episodes: 35 });
  });

  it('is read by a waiting caller when the wait begins, and when it is over', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened({ reportMilliseconds: 100 });
    const id = await submitted(service, submission(15));
    const over = service.waitUntilOver(id, 60_000, signal);
    await fixture.clock.advance(0);
    const find = vi.spyOn(fixture.store.evaluations, 'find');
    await fixture.clock.advance(15 * EPISODE_MS);
    expect(await over).toMatchObject({ state: 'finished' });
    expect(find).toHaveBeenCalledTimes(1);
  });

  it('is read only at its end by a caller that has just received it', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened({ reportMilliseconds: 100 });
    const { evaluation } = await service.submit(submission(15), 'pipeline', signal);
    const find = vi.spyOn(fixture.store.evaluations, 'find');
    const over = service.waitUntilOver(evaluation.id, 60_000, signal, evaluation);
    await fixture.clock.advance(15 * EPISODE_MS);
    expect(await over).toMatchObject({ state: 'finished' });
    // Once by the process that plays it, once at its end.
    expect(find).toHaveBeenCalledTimes(2);
  });

  it('is followed without a gap, from any event on, until it is over', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    const id = await submitted(service, submission(30));
    const seen: StoredEvent[] = [];
    const following = (async () => {
      for await (const event of service.follow(id, 1, signal)) seen.push(event);
    })();
    await fixture.clock.advance(30 * EPISODE_MS);
    await following;
    expect(seen.map(({ sequence }) => sequence)).toEqual(range(seen.length).map((i) => i + 2));
    expect(seen.at(-1)).toMatchObject({ type: 'state', data: { state: 'finished' } });
  });

  it('is waited for, but no longer than was asked for', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    const id = await submitted(service, submission(10));
    const tooShort = service.waitUntilOver(id, 500, signal);
    const longEnough = service.waitUntilOver(id, 5000, signal);
    await fixture.clock.advance(5000);
    expect(await tooShort).toMatchObject({ state: 'running' });
    expect(await longEnough).toMatchObject({ state: 'finished' });
  });

  it('is waited for where another Muster plays it: the store is asked for all of them at once', async () => {
    await using fixture = new ServiceFixture();
    const [player, asked] = [fixture.service(), fixture.service()];
    const ids = [await submitted(asked, submission(10)), await submitted(asked, submission(20))];
    const waits = [...ids, ...ids].map((id) => asked.waitUntilOver(id, 60_000, signal));
    const over = vi.spyOn(fixture.store.evaluations, 'findOver');
    const find = vi.spyOn(fixture.store.evaluations, 'find');
    player.open();
    await fixture.clock.advance(20 * EPISODE_MS + 2000);
    for (const ended of await Promise.all(waits)) expect(ended).toMatchObject({ state: 'finished' });
    expect(over.mock.calls[0]).toEqual([ids]);
    expect(over.mock.calls.length).toBeLessThanOrEqual((20 * EPISODE_MS + 2000) / 2000);
    // The process that plays one looks it up once, and a waiting caller at its end.
    expect(find).toHaveBeenCalledTimes(ids.length + waits.length);
  });

  it('is no longer awaited when the store fails: the waiting caller gets an error', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.service();
    const id = await submitted(service, submission(10));
    const wait = service.waitUntilOver(id, 60_000, signal).catch((error: unknown) => error);
    await fixture.clock.advance(0);
    const broken = new InfrastructureError('store.failed', 'the store is out of order');
    vi.spyOn(fixture.store.evaluations, 'findOver').mockRejectedValue(broken);
    vi.spyOn(fixture.store.evaluations, 'find').mockRejectedValue(broken);
    await fixture.clock.advance(2000);
    expect(await wait).toBe(broken);
  });

  it('is played once the store answers again, which the log says', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.service();
    const id = await submitted(service, submission(10));
    const broken = new InfrastructureError('store.failed', 'the store is out of order');
    vi.spyOn(fixture.store.ownerships, 'listClaimable').mockRejectedValueOnce(broken).mockRejectedValueOnce(broken);
    service.open();
    await fixture.clock.advance(10 * EPISODE_MS + 3000);
    expect(await service.find(id)).toMatchObject({ state: 'finished' });
    const failed = { message: 'could not look for evaluations to play', fields: { error: broken.message } };
    expect(fixture.warnings).toEqual([failed, failed, { message: 'the store answers again after an outage', fields: { seconds: 2 } }]);
  });

  it('is not accepted beyond the quota, and its upload is given up', async () => {
    await using fixture = new ServiceFixture();
    fixture.quotas.set('pipeline', { waitingEvaluations: 1 });
    const bringing = Promise.withResolvers<AbortSignal>();
    const library: Library = {
      ...PAPER_LIBRARY,
      orderCheckpoint: async (reference, principal, given) => {
        if (!('uri' in reference) || reference.uri !== 'huge') return PAPER_LIBRARY.orderCheckpoint(reference, principal, given);
        bringing.resolve(given);
        return raceWithAbort(new Promise<never>(() => undefined), given);
      },
    };
    const service = fixture.service({}, { library });
    await submitted(service, submission(1));
    const refused = service.submit(submission(1, {}, 'huge'), 'pipeline', signal);
    await expect(refused).rejects.toMatchObject({ code: 'quota.waiting-evaluations' });
    expect((await bringing.promise).aborted).toBe(true);
    await submitted(service, submission(1), 'somebody else');
  });

  it('is the same when it is sent again with its key, even if its files are gone', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.service();
    const idempotency = { key: 'once', fingerprint: digestBytes('body') };
    const first = await service.submit(submission(1), 'pipeline', signal, idempotency);
    const again = await service.submit(submission(1, { suite: 'unknown' }), 'pipeline', signal, idempotency);
    expect(again).toEqual({ kind: 'repeated', evaluation: first.evaluation });
    const other = await service.submit(submission(1), 'pipeline', signal, { key: 'once', fingerprint: digestBytes('other') });
    expect(other.kind).toBe('conflict');
    await expect(service.submit(submission(1, { suite: 'unknown' }), 'pipeline', signal)).rejects.toMatchObject({ code: 'suite.unknown' });
  });

  it('takes episodes that another has played already, unless the cache is off', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    await submitted(service, submission(5));
    await fixture.clock.advance(5 * EPISODE_MS);
    const cached = await submitted(service, submission(5));
    await fixture.clock.advance(0);
    const answered = { state: 'finished', running: { episodes: 5 }, summary: { official: { episodes: 5 } } };
    expect(await fixture.find(cached)).toMatchObject(answered);
    expect(fixture.player.played).toHaveLength(5);
    const anew = await submitted(service, submission(5, { cache: false }));
    await fixture.clock.advance(5 * EPISODE_MS);
    expect(await fixture.find(anew)).toMatchObject({ state: 'finished' });
    expect(fixture.player.played).toHaveLength(10);
  });
});

describe('what came out of sandboxes in which code ran', () => {
  it.each([false, true])('is taken by the same principal again, and by no other (answers repeated: %s)', async (repeats) => {
    await using fixture = new ServiceFixture();
    fixture.player.runs = 'code';
    fixture.player.repeats = repeats;
    const service = fixture.opened();
    const played = async (principal: string): Promise<number> => {
      const before = fixture.player.played.length;
      const id = await submitted(service, submission(5), principal);
      await fixture.clock.advance(5 * EPISODE_MS);
      expect(await fixture.find(id)).toMatchObject({ state: 'finished' });
      return fixture.player.played.length - before;
    };
    expect([await played('hostile'), await played('honest'), await played('hostile'), await played('honest')]).toEqual([5, 5, 0, 0]);
  });

  it('is not taken by an evaluation of the same principal in which data alone runs, nor the other way round', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    for (const runs of ['code', 'data'] as const) {
      fixture.player.runs = runs;
      await submitted(service, submission(5));
      await fixture.clock.advance(5 * EPISODE_MS);
    }
    expect(fixture.player.played).toHaveLength(10);
  });
});

describe('an evaluation that was answered before', () => {
  it('is accepted with its answer, and nothing is played', async () => {
    await using fixture = new ServiceFixture();
    fixture.player.repeats = true;
    const ended: string[] = [];
    const service = fixture.opened({}, { onConcluded: (state) => void ended.push(state) });
    await submitted(service, submission(5));
    await fixture.clock.advance(5 * EPISODE_MS);
    const again = await service.submit(submission(5, { webhook: { url: 'https://example.org/hook' } }), 'researcher', signal);
    expect(again).toMatchObject({
      kind: 'accepted',
      evaluation: { state: 'finished', principal: 'researcher', summary: { warnings: ['repeated'], official: { episodes: 5 } } },
    });
    const { id } = again.evaluation;
    expect(await fixture.find(id)).toEqual(again.evaluation);
    expect(await fixture.stored(id)).toEqual(range(5));
    expect(fixture.player.played).toHaveLength(5);
    expect(ended).toEqual(['finished', 'finished']);
    expect(await fixture.store.webhooks.take(10, 1000)).toMatchObject([
      { body: { evaluation: id, state: 'finished', summary: { warnings: ['repeated'] } } },
    ]);
  });

  it.each<[string, Partial<Submission>, string?]>([
    ['another checkpoint', {}, 'another'],
    ['another suite', { suite: '6 episodes' }],
    ['the cache to be left alone', { cache: false }],
    ['for an end that has passed', { deadline: new Date(0) }],
    ['a comparison', { question: { kind: 'comparison', baseline: { uri: 'a' }, candidates: [{ uri: 'late' }], terms: {} } }],
  ])('but not when it asks for %s', async (_, changes, checkpoint) => {
    await using fixture = new ServiceFixture();
    fixture.player.repeats = true;
    const service = fixture.opened();
    await submitted(service, submission(5));
    await fixture.clock.advance(5 * EPISODE_MS);
    const other = await service.submit(submission(5, changes, checkpoint), 'pipeline', signal);
    expect(other).toMatchObject({ kind: 'accepted', evaluation: { state: 'waiting' } });
  });

  it('is played when the first was interrupted', async () => {
    await using fixture = new ServiceFixture();
    fixture.player.repeats = true;
    const service = fixture.opened();
    const first = await submitted(service, submission(5));
    await fixture.clock.advance(2 * EPISODE_MS);
    await service.cancel(first);
    await fixture.clock.advance(0);
    expect(await fixture.find(first)).toMatchObject({ state: 'cancelled', summary: { partial: true } });
    const again = await submitted(service, submission(5));
    await fixture.clock.advance(5 * EPISODE_MS);
    expect(await fixture.find(again)).toMatchObject({ state: 'finished', summary: { partial: false } });
  });

  it('is computed from its episodes when its player gives no such answer any more', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    await submitted(service, submission(5));
    await fixture.clock.advance(5 * EPISODE_MS);
    const again = await service.submit(submission(5), 'pipeline', signal);
    expect(again.evaluation.state).toBe('waiting');
    await fixture.clock.advance(0);
    expect(await fixture.find(again.evaluation.id)).toMatchObject({ state: 'finished' });
    expect(fixture.player.played).toHaveLength(5);
  });

  it('is looked up in the store once, however often it is asked', async () => {
    await using fixture = new ServiceFixture();
    fixture.player.repeats = true;
    const service = fixture.opened();
    await submitted(service, submission(5));
    await fixture.clock.advance(5 * EPISODE_MS);
    const given = vi.spyOn(fixture.store.answers, 'findAnswer');
    for (const _ of range(3)) expect((await service.submit(submission(5), 'pipeline', signal)).evaluation.state).toBe('finished');
    expect(given).toHaveBeenCalledTimes(1);
  });

  it('is played when the answer was forgotten after it was given, and answered again from then on', async () => {
    await using fixture = new ServiceFixture();
    fixture.player.repeats = true;
    const service = fixture.opened();
    await submitted(service, submission(5));
    await fixture.clock.advance(5 * EPISODE_MS);
    await service.submit(submission(5), 'pipeline', signal);
    await fixture.clock.advance(1);
    expect(await fixture.store.evaluations.forgetEnded(fixture.clock.date(), 10)).toBe(2);
    const again = await submitted(service, submission(5));
    expect(await fixture.find(again)).toMatchObject({ state: 'waiting' });
    await fixture.clock.advance(5 * EPISODE_MS);
    expect(fixture.player.played).toHaveLength(10);
    expect((await service.submit(submission(5), 'pipeline', signal)).evaluation.state).toBe('finished');
  });

  it('ends waiting evaluations of older versions of its run, like any other', async () => {
    await using fixture = new ServiceFixture();
    fixture.player.repeats = true;
    const service = fixture.opened({ staleness: 'cancel-waiting' });
    await submitted(service, submission(5));
    await fixture.clock.advance(5 * EPISODE_MS);
    await fixture.drained(service);
    const later = fixture.service({ staleness: 'cancel-waiting' });
    const asked = (version: number, episodes: number): Submission =>
      submission(episodes, { question: { kind: 'evaluation', checkpoint: { uri: 'late', run: 'r7', version } } });
    const older = await submitted(later, asked(1, 9));
    const newer = await later.submit(asked(2, 5), 'pipeline', signal);
    expect(newer.evaluation.state).toBe('finished');
    expect(await fixture.find(older)).toMatchObject({ state: 'cancelled' });
  });
});

describe('an evaluation that is not wanted any more', () => {
  it('is over at once when it has not begun', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.service();
    const id = await submitted(service, submission(10, { webhook: { url: 'https://example.org/hook' } }));
    expect(await service.cancel(id)).toMatchObject({ state: 'cancelled', summary: undefined });
    expect(await fixture.store.webhooks.take(10, 1000)).toMatchObject([{ body: { evaluation: id, state: 'cancelled' } }]);
    service.open();
    await fixture.clock.advance(2000);
    expect(fixture.player.played).toEqual([]);
  });

  it('keeps what was folded, labelled partial', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    const id = await submitted(service, submission(10));
    await fixture.clock.advance(4 * EPISODE_MS);
    expect(await service.cancel(id)).toMatchObject({ state: 'running' });
    await settle();
    expect(await fixture.find(id)).toMatchObject({ state: 'cancelled', summary: { partial: true, official: { episodes: 4 } } });
  });

  it('is cancelled by the process that plays it, wherever that is', async () => {
    await using fixture = new ServiceFixture();
    const [here, there] = [fixture.service(), fixture.opened()];
    const id = await submitted(there, submission(1000));
    await fixture.clock.advance(400);
    await here.cancel(id);
    await fixture.clock.advance(OWNERSHIP_MS / 3);
    expect(await fixture.find(id)).toMatchObject({ state: 'cancelled', summary: { partial: true } });
  });

  it('whose owner has died ends with its stored episodes, and no more', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    const id = await submitted(service, submission(10));
    await fixture.clock.advance(3 * EPISODE_MS);
    await fixture.drained(service);
    await service.cancel(id);
    fixture.opened();
    await fixture.clock.advance(OWNERSHIP_MS + 1000);
    expect(await fixture.find(id)).toMatchObject({ state: 'cancelled', summary: { partial: true, official: { episodes: 3 } } });
    expect(fixture.player.played).toHaveLength(3);
  });

  it('includes one that was not over by its deadline', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    const deadline = new Date(fixture.clock.date().getTime() + 450);
    const id = await submitted(service, submission(10, { deadline }));
    await fixture.clock.advance(1000);
    expect(await fixture.find(id)).toMatchObject({
      state: 'cancelled',
      summary: { partial: true, official: { episodes: 4 } },
      failure: { code: 'evaluation.deadline' },
    });
  });

  it('includes a waiting one of an older version after its run has advanced', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.service({ staleness: 'cancel-waiting' });
    const version = (number: number, run = 'r'): ReturnType<typeof submission> =>
      submission(1, { question: { kind: 'evaluation', checkpoint: { uri: 'late', run, version: number } } });
    const ids = [];
    for (const number of [1, 2, 4]) ids.push(await submitted(service, version(number)));
    const other = await submitted(service, version(1, 'another'));
    const ofAnother = await submitted(service, version(1), 'somebody else');
    ids.push(await submitted(service, version(3)));
    const states = await Promise.all([...ids, other, ofAnother].map(async (id) => (await fixture.find(id)).state));
    expect(states).toEqual(['cancelled', 'cancelled', 'waiting', 'waiting', 'waiting', 'waiting']);
  });

  it('is accepted although the older ones could not be looked up', async () => {
    await using fixture = new ServiceFixture();
    const { evaluations } = fixture.store;
    const list = async (): Promise<never> => {
      throw new InfrastructureError('store.unavailable', 'the database is away');
    };
    const failing: Partial<typeof evaluations> = { accept: (...asked) => evaluations.accept(...asked), list };
    const store = { ...fixture.store, evaluations: Object.setPrototypeOf(failing, evaluations) };
    const service = fixture.service({ staleness: 'cancel-waiting' }, { store });
    const checkpoint = { uri: 'late', run: 'r', version: 2 };
    const id = await submitted(service, submission(1, { question: { kind: 'evaluation', checkpoint } }));
    expect(await fixture.find(id)).toMatchObject({ state: 'waiting' });
    expect(fixture.warnings).toMatchObject([{ fields: { evaluation: id, error: 'the database is away' } }]);
  });
});

describe('a Muster that shuts down', () => {
  it('lets what is played finish, when there is time', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    const id = await submitted(service, submission(10));
    await fixture.clock.advance(2 * EPISODE_MS);
    const draining = service.drain(60_000);
    await expect(submitted(service, submission(1))).rejects.toMatchObject({ code: 'service.draining' });
    await fixture.clock.advance(8 * EPISODE_MS);
    await draining;
    expect(await fixture.find(id)).toMatchObject({ state: 'finished' });
  });

  it('gives back evaluations that do not end in time, and the next Muster continues at once without playing anything twice', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened();
    const id = await submitted(service, submission(20));
    await fixture.clock.advance(5 * EPISODE_MS);
    const draining = service.drain(3 * EPISODE_MS);
    await fixture.clock.advance(3 * EPISODE_MS);
    await draining;
    expect(await fixture.find(id)).toMatchObject({ state: 'running' });
    fixture.opened();
    await fixture.clock.advance(13 * EPISODE_MS);
    expect(await fixture.find(id)).toMatchObject({ state: 'finished', summary: { official: { episodes: 20 } } });
    expect(fixture.player.played.map(({ index }) => index)).toEqual(range(20));
  });

  it('loses its evaluations to another within the time of an ownership when it dies', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.service();
    const id = await submitted(service, submission(6));
    await fixture.store.ownerships.claim(id, parseOwnerId('dead'), OWNERSHIP_MS);
    service.open();
    await fixture.clock.advance(OWNERSHIP_MS - 1000);
    expect(await fixture.find(id)).toMatchObject({ state: 'waiting' });
    await fixture.clock.advance(2000 + 6 * EPISODE_MS);
    expect(await fixture.find(id)).toMatchObject({ state: 'finished' });
  });

  it('writes nothing more when it is late and another has taken over', async () => {
    await using fixture = new ServiceFixture();
    const [late, other] = [fixture.service(), fixture.service()];
    late.open();
    const id = await submitted(late, submission(100));
    await fixture.clock.advance(2 * EPISODE_MS);
    fixture.clock.skip(OWNERSHIP_MS);
    other.open();
    await fixture.clock.advance(100 * EPISODE_MS);
    expect(await fixture.find(id)).toMatchObject({ state: 'finished', summary: { official: { episodes: 100 } } });
    expect(await fixture.stored(id)).toEqual(range(100));
    expect(fixture.warnings.map(({ message }) => message)).toContain('another Muster took the evaluation over');
  });
});

describe('when something goes wrong', () => {
  it('with the infrastructure, the evaluation fails with what there was', async () => {
    await using fixture = new ServiceFixture();
    fixture.player.failAt = { index: 3, error: new InfrastructureError('pool.creation-failed', 'no sandbox could be created') };
    const service = fixture.opened();
    const id = await submitted(service, submission(10, { webhook: { url: 'https://example.org/hook' } }));
    await fixture.clock.advance(10 * EPISODE_MS);
    expect(await fixture.find(id)).toMatchObject({
      state: 'failed',
      summary: { partial: true, official: { episodes: 3 } },
      failure: { code: 'evaluation.failed', message: expect.stringContaining('no sandbox could be created') },
    });
    const [delivery] = await fixture.store.webhooks.take(10, 1000);
    expect(delivery).toMatchObject({ url: 'https://example.org/hook', body: { evaluation: id, state: 'failed' } });
  });

  it('with the store, the evaluation continues once its ownership has expired', async () => {
    await using fixture = new ServiceFixture();
    fixture.player.failAt = { index: 3, error: new InfrastructureError('store.unreachable', 'the database does not answer') };
    const service = fixture.opened();
    const id = await submitted(service, submission(10));
    await fixture.clock.advance(10 * EPISODE_MS);
    expect(await fixture.find(id)).toMatchObject({ state: 'running' });
    expect(fixture.errors).toEqual(['the store failed: the evaluation waits, and goes on server.ownershipSeconds after that is mended']);
    fixture.player.failAt = undefined;
    await fixture.clock.advance(OWNERSHIP_MS + 10 * EPISODE_MS + 1000);
    expect(await fixture.find(id)).toMatchObject({ state: 'finished' });
    expect(fixture.player.played.map(({ index }) => index)).toEqual(range(10));
  });

  it.each([
    [
      'an answer that cannot be stored',
      new InfrastructureError('store.content', 'too long'),
      'the evaluation could not be ended (store.content)',
    ],
    ['Muster itself', new TypeError('undefined is not a function'), 'a defect of Muster'],
  ])('with %s, the log says so, and the evaluation continues', async (_, error, logged) => {
    await using fixture = new ServiceFixture();
    vi.spyOn(fixture.store.course, 'conclude').mockRejectedValueOnce(error);
    const id = await submitted(fixture.opened(), submission(10));
    await fixture.clock.advance(10 * EPISODE_MS);
    expect(fixture.errors).toEqual([expect.stringContaining(`${logged}: the evaluation waits`)]);
    await fixture.clock.advance(OWNERSHIP_MS + 1000);
    expect(await fixture.find(id)).toMatchObject({ state: 'finished' });
  });

  it('with an order that another version of Muster has accepted, or would compute differently, it fails with the reason', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.service();
    const known = await submitted(service, submission(10));
    const { statistics, ...before } = parseOrder(await fixture.find(known));
    expect(statistics).toBe(STATISTICS_VERSION);
    const requests = [{ schema: 'muster.order/99' }, before, { ...before, statistics: statistics + 1 }];
    const ids = requests.map(() => fixture.newId());
    for (const [i, request] of requests.entries())
      await fixture.store.evaluations.accept({ id: ids[i] ?? known, principal: 'p', request, suite: 's', labels: {}, priority: 0 });
    service.open();
    await settle();
    for (const id of ids) expect(await fixture.find(id)).toMatchObject({ state: 'failed', failure: { code: 'store.order' } });
    expect(await fixture.find(known)).toMatchObject({ state: 'running' });
  });
});

describe('evaluations that are over', () => {
  it('are deleted after their time', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened({ retentionMilliseconds: 3_600_000 });
    const ids = [];
    for (let i = 0; i < 45; i += 1) ids.push(await submitted(service, submission(0, {}, `checkpoint-${i}`)));
    await fixture.clock.advance(3_000_000);
    expect((await fixture.store.evaluations.list({}, { limit: 100 })).items).toHaveLength(45);
    await fixture.clock.advance(1_200_000);
    expect((await fixture.store.evaluations.list({}, { limit: 100 })).items).toEqual([]);
  });
});

describe('a batch of one caller', () => {
  it('does not delay another caller: both are played side by side', async () => {
    await using fixture = new ServiceFixture();
    const service = fixture.opened({ slots: 2 }, { places: 2 });
    for (let i = 0; i < 200; i += 1) await submitted(service, submission(50, {}, `batch-${i}`), 'batch');
    await fixture.clock.advance(5 * EPISODE_MS);
    const loop = await submitted(service, submission(10, {}, 'loop'), 'loop');
    await fixture.clock.advance(11 * EPISODE_MS);
    expect(await fixture.find(loop)).toMatchObject({ state: 'finished' });
  });
});
