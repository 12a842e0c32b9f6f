import { expect } from 'vitest';
import type { EvaluationFilter } from '../../../src/evaluation-store/evaluation-catalogue.ts';
import type { EvaluationStore } from '../../../src/evaluation-store/evaluation-store.ts';
import { readEpisodesFrom } from '../../../src/evaluation-store/episode-log.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import { accepted, asked, claimed, completedRange, LEG, newId, running } from '../../support/store-fixture.ts';
import type { Case } from '../evaluation-store.ts';

export const catalogue: Readonly<Record<string, Case>> = {
  async 'what is accepted can be found as it was asked for, and waits'({ open, clock }) {
    await using store = await open();
    const wanted = asked({
      request: { suite: { name: 'cartpole', tasks: ['ü', null, 1.5] } },
      run: 'run-7',
      version: 12_000,
      labels: { branch: 'main', note: '"quoted" – and more' },
      priority: -3,
    });
    await store.evaluations.accept(wanted);
    const found = await store.evaluations.find(wanted.id);
    expect(found).toEqual({
      ...wanted,
      state: 'waiting',
      createdAt: clock.date(),
      startedAt: undefined,
      endedAt: undefined,
      cancelRequestedAt: undefined,
      running: undefined,
      summary: undefined,
      failure: undefined,
    });
    expect(await store.events.readAfter(wanted.id, 0, 10)).toEqual([
      { sequence: 1, type: 'state', data: { state: 'waiting' }, at: clock.date() },
    ]);
  },

  async 'an unknown evaluation is not found'({ open }) {
    await using store = await open();
    expect(await store.evaluations.find(newId())).toBeUndefined();
    expect(await store.evaluations.requestCancel(newId())).toBeUndefined();
    expect(await store.events.readAfter(newId(), 0, 10)).toEqual([]);
    expect(await store.episodes.page(newId(), 0, 0, 10)).toEqual([]);
  },

  async 'of some evaluations it lists those that are over or missing'({ open }) {
    await using store = await open();
    const waiting = await accepted(store);
    const played = await running(store);
    const ended = await running(store);
    await store.course.conclude(ended, { state: 'finished', summary: {}, webhooks: [] });
    const unknown = newId();
    const others = await Promise.all(Array.from({ length: 600 }, () => accepted(store)));
    const asked = [ended.evaluation, waiting.id, unknown, played.evaluation, ...others.map(({ id }) => id)];
    expect(await store.evaluations.findOver(asked)).toEqual([ended.evaluation, unknown]);
    expect(await store.evaluations.findOver([])).toEqual([]);
  },

  async 'a list has the latest first, and only what fits the filter'({ open, clock }) {
    await using store = await open();
    const first = await accepted(store, { run: 'a', suite: 'cartpole', labels: { branch: 'main' } });
    await clock.advance(1000);
    const second = await accepted(store, { run: 'b', suite: 'cartpole', labels: { branch: 'main', host: 'x' }, principal: 'researcher' });
    await clock.advance(1000);
    const third = await accepted(store, { run: 'b', suite: 'taxi', labels: { branch: 'other' } });
    await store.course.begin(await claimed(store, third.id));
    const all = [third.id, second.id, first.id];
    expect(await ids(store, {})).toEqual(all);
    expect(await ids(store, { run: 'b' })).toEqual([third.id, second.id]);
    expect(await ids(store, { suite: 'cartpole', run: 'b' })).toEqual([second.id]);
    expect(await ids(store, { states: ['waiting'] })).toEqual([second.id, first.id]);
    expect(await ids(store, { states: ['waiting', 'running'] })).toEqual(all);
    expect(await ids(store, { states: [] })).toEqual([]);
    expect(await ids(store, { label: { name: 'branch', value: 'main' } })).toEqual([second.id, first.id]);
    expect(await ids(store, { label: { name: 'host', value: 'main' } })).toEqual([]);
    expect(await ids(store, { principal: 'researcher' })).toEqual([second.id]);
    expect(await ids(store, { from: second.createdAt })).toEqual([third.id, second.id]);
    expect(await ids(store, { before: second.createdAt })).toEqual([first.id]);
  },

  async 'paging shows everything once, whatever is accepted meanwhile'({ open, clock }) {
    await using store = await open();
    const before: string[] = [];
    for (let i = 0; i < 23; i += 1) {
      // Some in the same millisecond.
      if (i % 3 === 0) await clock.advance(1);
      before.push((await accepted(store)).id);
    }
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await store.evaluations.list({}, { limit: 5, after });
      expect(page.items.length).toBeLessThanOrEqual(5);
      seen.push(...page.items.map(({ id }) => id));
      after = page.next;
      await accepted(store);
      await clock.advance(1);
      await accepted(store);
    } while (after !== undefined);
    expect(seen).toEqual(before.toReversed());
  },

  async 'a page that ends with the list has no next one'({ open }) {
    await using store = await open();
    for (let i = 0; i < 4; i += 1) await accepted(store);
    const first = await store.evaluations.list({}, { limit: 2 });
    const second = await store.evaluations.list({}, { limit: 2, after: first.next });
    expect(first.next).toBeDefined();
    expect(second.items).toHaveLength(2);
    expect(second.next).toBeUndefined();
  },

  async 'an unknown cursor is an input error'({ open }) {
    await using store = await open();
    for (const after of ['', 'nonsense', Buffer.from('12').toString('base64url')]) {
      await expect(store.evaluations.list({}, { limit: 5, after })).rejects.toMatchObject({ kind: 'input', code: 'cursor.invalid' });
    }
  },

  async 'a request that is sent again with its key is the same evaluation'({ open }) {
    await using store = await open();
    const idempotency = { key: 'retry-1', fingerprint: digestBytes('body') };
    expect(await store.evaluations.findEarlier('pipeline', idempotency)).toBeUndefined();
    const evaluation = await accepted(store, {}, idempotency);
    expect(await store.evaluations.findEarlier('pipeline', idempotency)).toEqual({ kind: 'repeated', evaluation });
    expect(await store.evaluations.findEarlier('another', idempotency)).toBeUndefined();
    expect(await store.evaluations.accept(asked(), idempotency)).toEqual({ kind: 'repeated', evaluation });
    const other = { key: 'retry-1', fingerprint: digestBytes('another body') };
    expect(await store.evaluations.accept(asked(), other)).toEqual({ kind: 'conflict', evaluation });
    expect(await ids(store, {})).toEqual([evaluation.id]);
    await accepted(store, { principal: 'somebody else' }, other);
  },

  async 'of many requests with one key at a time one is accepted'({ open }) {
    await using store = await open();
    const idempotency = { key: 'retry-1', fingerprint: digestBytes('body') };
    const answers = await Promise.all(Array.from({ length: 12 }, () => store.evaluations.accept(asked(), idempotency)));
    expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(1);
    expect(new Set(answers.map(({ evaluation }) => evaluation.id)).size).toBe(1);
    expect(await ids(store, {})).toHaveLength(1);
  },

  async 'the wish to cancel is kept once, and comes to nothing after the end'({ open, clock }) {
    await using store = await open();
    const ownership = await running(store);
    const wished = clock.date();
    await store.evaluations.requestCancel(ownership.evaluation);
    await clock.advance(1000);
    expect(await store.evaluations.requestCancel(ownership.evaluation)).toMatchObject({ state: 'running', cancelRequestedAt: wished });
    await store.course.conclude(ownership, { state: 'cancelled', webhooks: [] });
    const over = await running(store);
    await store.course.conclude(over, { state: 'finished', webhooks: [] });
    expect(await store.evaluations.requestCancel(over.evaluation)).toMatchObject({ state: 'finished', cancelRequestedAt: undefined });
  },

  async 'what was over before a time is forgotten whole, the rest stays'({ open, clock }) {
    await using store = await open();
    const idempotency = { key: 'once', fingerprint: digestBytes('body') };
    const old = await accepted(store, { labels: { age: 'old' } }, idempotency);
    const ownership = await claimed(store, old.id);
    await store.episodes.append(ownership, LEG, completedRange(0, 50));
    await store.course.conclude(ownership, { state: 'finished', webhooks: [{ url: 'https://example.com', body: {} }] });
    await clock.advance(1000);
    const time = clock.date();
    const recent = await running(store);
    await store.episodes.append(recent, LEG, completedRange(0, 50));
    await store.course.conclude(recent, { state: 'failed', failure: { code: 'x', message: 'y' }, webhooks: [] });
    const open1 = await running(store);

    expect(await store.evaluations.forgetEnded(time, 10)).toBe(1);
    expect(await store.evaluations.find(old.id)).toBeUndefined();
    expect(await store.episodes.page(old.id, 0, 0, 10)).toEqual([]);
    expect(await store.events.readAfter(old.id, 0, 10)).toEqual([]);
    expect(await store.webhooks.findNextDue()).toBeUndefined();
    expect(await ids(store, { label: { name: 'age', value: 'old' } })).toEqual([]);
    expect((await store.evaluations.accept(asked(), idempotency)).kind).toBe('accepted');
    expect(await store.evaluations.forgetEnded(time, 10)).toBe(0);
    expect((await store.episodes.page(recent.evaluation, 0, 0, 100)).length).toBe(50);
    expect(await store.evaluations.find(open1.evaluation)).toMatchObject({ state: 'running' });
  },

  async 'the episodes of a new evaluation are its own, though another was forgotten'({ open, clock }) {
    await using store = await open();
    const old = await running(store);
    await store.episodes.append(old, LEG, completedRange(0, 5));
    await store.course.conclude(old, { state: 'finished', webhooks: [] });
    await clock.advance(1);
    await store.evaluations.forgetEnded(clock.date(), 10);
    const { evaluation } = await running(store);
    const found = [];
    for await (const episode of readEpisodesFrom(store.episodes, evaluation, 0, 0)) found.push(episode);
    expect(found).toEqual([]);
  },
};

async function ids(store: EvaluationStore, filter: EvaluationFilter): Promise<readonly string[]> {
  return (await store.evaluations.list(filter, { limit: 100 })).items.map(({ id }) => id);
}
