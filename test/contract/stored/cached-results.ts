import { expect } from 'vitest';
import type { EvaluationStore } from '../../../src/evaluation-store/evaluation-store.ts';
import type { Ownership } from '../../../src/evaluation-store/ownership.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import { completed, completedRange, LEG, running, SHARED_LEG } from '../../support/store-fixture.ts';
import type { Case } from '../evaluation-store.ts';

export const cachedResults: Readonly<Record<string, Case>> = {
  async 'a range that another has is adopted, and no more'({ open }) {
    await using store = await open();
    await store.episodes.append(await running(store), SHARED_LEG, completedRange(0, 100));
    const asking = await running(store);
    await store.cache.adopt(asking, SHARED_LEG, 10, 20);
    expect(await all(store, asking)).toEqual(completedRange(10, 20));
    await store.cache.adopt(asking, SHARED_LEG, 15, 200);
    expect(await all(store, asking)).toEqual(completedRange(10, 100));
  },

  async 'a lost episode is no result, and is played again'({ open }) {
    await using store = await open();
    const lost = completed(3, { outcome: { kind: 'lost', detail: 'no sandbox' } });
    await store.episodes.append(await running(store), SHARED_LEG, [...completedRange(0, 3), lost, ...completedRange(4, 6)]);
    const asking = await running(store);
    await store.cache.adopt(asking, SHARED_LEG, 0, 100);
    expect(await all(store, asking)).toEqual([...completedRange(0, 3), ...completedRange(4, 6)]);
  },

  async 'what an evaluation that is over withholds is no result, and is played again'({ open }) {
    await using store = await open();
    const failing = await running(store);
    await store.episodes.append(failing, SHARED_LEG, completedRange(0, 16));
    await store.course.conclude(failing, { state: 'failed', withheld: true, webhooks: [] });
    const asking = await running(store);
    await store.cache.adopt(asking, SHARED_LEG, 0, 100);
    expect(await all(store, asking)).toEqual([]);
    expect(await store.cache.findNextKnown(asking, SHARED_LEG, 0)).toBeUndefined();
  },

  async 'one’s own episodes stay as they are'({ open }) {
    await using store = await open();
    await store.episodes.append(await running(store), SHARED_LEG, completedRange(0, 10));
    const asking = await running(store);
    const own = completed(4, { seconds: 99 });
    await store.episodes.append(asking, SHARED_LEG, [own]);
    await store.cache.adopt(asking, SHARED_LEG, 0, 10);
    expect((await all(store, asking))[4]).toEqual(own);
  },

  async 'results of another checkpoint, and of principals that share none, are not found'({ open }) {
    await using store = await open();
    await store.episodes.append(await running(store), { arm: 0, cacheKey: digestBytes('another') }, completedRange(0, 10));
    await store.episodes.append(await running(store), LEG, completedRange(0, 10));
    const asking = await running(store);
    await store.cache.adopt(asking, SHARED_LEG, 0, 10);
    await store.cache.adopt(asking, LEG, 0, 10);
    expect(await all(store, asking)).toEqual([]);
    expect(await store.cache.findNextKnown(asking, SHARED_LEG, 0)).toBeUndefined();
    expect(await store.cache.findNextKnown(asking, LEG, 0)).toBeUndefined();
  },

  async 'several others complete each other, whatever their arms'({ open }) {
    await using store = await open();
    await store.episodes.append(await running(store), SHARED_LEG, completedRange(0, 10));
    await store.episodes.append(await running(store), { ...SHARED_LEG, arm: 2 }, completedRange(5, 20));
    const asking = await running(store);
    await store.cache.adopt(asking, SHARED_LEG, 0, 100);
    expect(await all(store, asking)).toEqual(completedRange(0, 20));
  },

  async 'it is known where the next one is'({ open }) {
    await using store = await open();
    await store.episodes.append(await running(store), SHARED_LEG, completedRange(0, 10));
    await store.episodes.append(await running(store), SHARED_LEG, completedRange(50, 60));
    const asking = await running(store);
    expect(await store.cache.findNextKnown(asking, SHARED_LEG, 0)).toBe(0);
    expect(await store.cache.findNextKnown(asking, SHARED_LEG, 9)).toBe(9);
    expect(await store.cache.findNextKnown(asking, SHARED_LEG, 10)).toBe(50);
    expect(await store.cache.findNextKnown(asking, SHARED_LEG, 60)).toBeUndefined();
  },

  async 'what was adopted stays when the other is forgotten'({ open, clock }) {
    await using store = await open();
    const other = await running(store);
    await store.episodes.append(other, SHARED_LEG, completedRange(0, 10));
    await store.course.conclude(other, { state: 'finished', webhooks: [] });
    const asking = await running(store);
    await store.cache.adopt(asking, SHARED_LEG, 0, 5);
    await clock.advance(1);
    expect(await store.evaluations.forgetEnded(clock.date(), 10)).toBe(1);
    await store.cache.adopt(asking, SHARED_LEG, 0, 10);
    expect(await all(store, asking)).toEqual(completedRange(0, 5));
  },
};

function all(store: EvaluationStore, { evaluation }: Ownership): Promise<readonly unknown[]> {
  return store.episodes.page(evaluation, 0, 0, 1000);
}
