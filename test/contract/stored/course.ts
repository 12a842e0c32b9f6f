import { expect } from 'vitest';
import type { StoredEvent } from '../../../src/evaluation-store/event-log.ts';
import type { EvaluationStore } from '../../../src/evaluation-store/evaluation-store.ts';
import { accepted, BOB, claimed, running, TTL } from '../../support/store-fixture.ts';
import type { Case } from '../evaluation-store.ts';

export const course: Readonly<Record<string, Case>> = {
  async 'an evaluation is begun once, also when another owner goes on with it'({ open, clock }) {
    await using store = await open();
    const { id } = await accepted(store);
    const first = await claimed(store, id);
    await clock.advance(500);
    const begun = clock.date();
    await store.course.begin(first);
    await clock.advance(TTL);
    await store.course.begin(await claimed(store, id, BOB));
    expect(await store.evaluations.find(id)).toMatchObject({ state: 'running', startedAt: begun });
    expect((await store.events.readAfter(id, 0, 10)).map(({ data }) => data)).toEqual([{ state: 'waiting' }, { state: 'running' }]);
  },

  async 'the latest running figures stand, and every event'({ open, clock }) {
    await using store = await open();
    const owned = await running(store);
    await store.course.report(owned, { running: { mean: 1 }, events: [{ type: 'progress', data: { folded: 10 } }] });
    await clock.advance(1000);
    await store.course.report(owned, {
      running: { mean: 2 },
      events: [
        { type: 'progress', data: { folded: 20 } },
        { type: 'verdict', data: { verdict: 'better' } },
      ],
    });
    expect(await store.evaluations.find(owned.evaluation)).toMatchObject({ running: { mean: 2 }, summary: undefined });
    expect(await store.events.readAfter(owned.evaluation, 3, 10)).toEqual([
      { sequence: 4, type: 'progress', data: { folded: 20 }, at: clock.date() },
      { sequence: 5, type: 'verdict', data: { verdict: 'better' }, at: clock.date() },
    ]);
  },

  async 'the end comes with its answer, its event and its webhooks'({ open, clock }) {
    await using store = await open();
    const owned = await running(store);
    await clock.advance(1000);
    const summary = { official: { mean: 0.1 + 0.2 } };
    const webhooks = [{ url: 'https://example.com/hook', body: { state: 'finished' } }];
    await store.course.conclude(owned, { state: 'finished', summary, webhooks });
    expect(await store.evaluations.find(owned.evaluation)).toMatchObject({
      state: 'finished',
      endedAt: clock.date(),
      summary,
      failure: undefined,
    });
    expect((await store.events.readAfter(owned.evaluation, 2, 10)).map(({ data }) => data)).toEqual([{ state: 'finished' }]);
    expect(await store.webhooks.findNextDue()).toEqual(clock.date());
  },

  async 'the end comes with the last running figures, whose events are before its own'({ open }) {
    await using store = await open();
    const owned = await running(store);
    const report = { running: { mean: 3 }, events: [{ type: 'progress', data: { folded: 30 } } as const] };
    await store.course.conclude(owned, { state: 'finished', summary: { mean: 3 }, report, webhooks: [] });
    expect(await store.evaluations.find(owned.evaluation)).toMatchObject({ state: 'finished', running: { mean: 3 }, summary: { mean: 3 } });
    const events = await store.events.readAfter(owned.evaluation, 2, 10);
    expect(events.map(({ sequence, data }) => [sequence, data])).toEqual([
      [3, { folded: 30 }],
      [4, { state: 'finished' }],
    ]);
  },

  async 'a failure is kept with what there was of an answer'({ open }) {
    await using store = await open();
    const owned = await running(store);
    const failure = { code: 'evaluation.failed', message: 'no sandbox could be made' };
    await store.course.conclude(owned, { state: 'failed', summary: { partial: true }, failure, webhooks: [] });
    expect(await store.evaluations.find(owned.evaluation)).toMatchObject({ state: 'failed', summary: { partial: true }, failure });
  },

  async 'who follows the events while they come misses none'({ open }) {
    await using store = await open();
    const owned = await running(store);
    const reports = Array.from({ length: 60 }, (_, i) =>
      store.course.report(owned, {
        running: { i },
        events: [
          { type: 'progress', data: { i } },
          { type: 'progress', data: { i } },
        ],
      }),
    );
    const followers = Array.from({ length: 3 }, () => follow(store, owned, 2 + 2 * reports.length));
    await Promise.all(reports);
    for (const seen of await Promise.all(followers))
      expect(seen.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 122 }, (_, i) => i + 1));
  },
};

/** Reads on from the last event that it has seen, as one that comes back would. */
async function follow(
  store: EvaluationStore,
  { evaluation }: { evaluation: Parameters<EvaluationStore['events']['readAfter']>[0] },
  count: number,
): Promise<StoredEvent[]> {
  const seen: StoredEvent[] = [];
  while (seen.length < count) seen.push(...(await store.events.readAfter(evaluation, seen.at(-1)?.sequence ?? 0, 7)));
  return seen;
}
