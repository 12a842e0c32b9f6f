import { expect } from 'vitest';
import { OwnershipLostError } from '../../../src/evaluation-store/ownership.ts';
import { accepted, ALICE, BOB, claimed, completedRange, LEG, running, SHARED_LEG, TTL } from '../../support/store-fixture.ts';
import type { EvaluationStore } from '../../../src/evaluation-store/evaluation-store.ts';
import type { Case } from '../evaluation-store.ts';

export const ownership: Readonly<Record<string, Case>> = {
  async 'an evaluation has one owner at a time'({ open }) {
    await using store = await open();
    const { id } = await accepted(store);
    const claims = await Promise.all([ALICE, BOB, ALICE, BOB].map((owner) => store.ownerships.claim(id, owner, TTL)));
    expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1);
    expect(await store.ownerships.claim(id, BOB, TTL)).toBeUndefined();
    expect(await store.ownerships.listClaimable(10)).toEqual([]);
  },

  async 'what can be claimed comes by priority, then by age'({ open, clock }) {
    await using store = await open();
    const first = await accepted(store);
    await clock.advance(1);
    const second = await accepted(store);
    const urgent = await accepted(store, { priority: 5 });
    const idle = await accepted(store, { priority: -5 });
    const owned = await running(store, { priority: 9 });
    const ended = await running(store);
    await store.course.conclude(ended, { state: 'finished', webhooks: [] });
    expect(await idsClaimable(store, 10)).toEqual([urgent.id, first.id, second.id, idle.id]);
    expect(await idsClaimable(store, 2)).toEqual([urgent.id, first.id]);
    await clock.advance(TTL);
    expect((await idsClaimable(store, 10))[0]).toBe(owned.evaluation);
  },

  async 'principals take turns in what can be claimed, however much one of them has'({ open, clock }) {
    await using store = await open();
    const batch: string[] = [];
    for (let i = 0; i < 20; i += 1) batch.push((await accepted(store, { principal: 'batch', priority: 3 })).id);
    await clock.advance(1);
    const loop = await accepted(store, { principal: 'loop', priority: -1 });
    const second = await accepted(store, { principal: 'loop', priority: -2 });
    expect(await store.ownerships.listClaimable(1)).toEqual([{ id: batch[0], principal: 'batch', priority: 3 }]);
    expect(await idsClaimable(store, 5)).toEqual([batch[0], loop.id, batch[1], second.id, batch[2]]);
  },

  async 'another takes over when the owner has not renewed in time'({ open, clock }) {
    await using store = await open();
    const first = await running(store);
    await clock.advance(TTL - 1);
    expect(await store.ownerships.claim(first.evaluation, BOB, TTL)).toBeUndefined();
    await store.ownerships.renew(first, TTL);
    await clock.advance(TTL - 1);
    expect(await store.ownerships.claim(first.evaluation, BOB, TTL)).toBeUndefined();
    await clock.advance(1);
    const second = await claimed(store, first.evaluation, BOB);
    expect(second.fence).toBeGreaterThan(first.fence);
  },

  async 'nothing that a former owner writes is taken'({ open, clock }) {
    await using store = await open();
    const former = await running(store);
    await clock.advance(TTL);
    const present = await claimed(store, former.evaluation, BOB);
    const before = await store.evaluations.find(former.evaluation);
    const events = await store.events.readAfter(former.evaluation, 0, 100);

    const writes = [
      () => store.ownerships.renew(former, TTL),
      () => store.episodes.append(former, LEG, completedRange(0, 10)),
      () => store.cache.adopt(former, SHARED_LEG, 0, 10),
      () => store.course.begin(former),
      () => store.course.report(former, { running: { mean: 1 }, events: [{ type: 'progress', data: {} }] }),
      () => store.course.conclude(former, { state: 'failed', webhooks: [{ url: 'https://example.com', body: {} }] }),
    ];
    for (const write of writes) await expect(write()).rejects.toThrow(OwnershipLostError);
    await store.ownerships.release(former);

    expect(await store.evaluations.find(former.evaluation)).toEqual(before);
    expect(await store.events.readAfter(former.evaluation, 0, 100)).toEqual(events);
    expect(await store.episodes.page(former.evaluation, 0, 0, 10)).toEqual([]);
    expect(await store.webhooks.findNextDue()).toBeUndefined();
    expect(await store.ownerships.claim(former.evaluation, ALICE, TTL)).toBeUndefined();
    await store.episodes.append(present, LEG, completedRange(0, 10));
    expect(await store.episodes.page(former.evaluation, 0, 0, 100)).toHaveLength(10);
  },

  async 'an owner that lost an evaluation and claims it again is another one'({ open, clock }) {
    await using store = await open();
    const former = await running(store);
    await clock.advance(TTL);
    await claimed(store, former.evaluation, ALICE);
    await expect(store.episodes.append(former, LEG, completedRange(0, 10))).rejects.toThrow(OwnershipLostError);
  },

  async 'an owner that is late, but not replaced, goes on'({ open, clock }) {
    await using store = await open();
    const late = await running(store);
    await clock.advance(2 * TTL);
    await store.episodes.append(late, LEG, completedRange(0, 10));
    await store.ownerships.renew(late, TTL);
    expect(await store.ownerships.claim(late.evaluation, BOB, TTL)).toBeUndefined();
  },

  async 'what is released can be claimed at once'({ open }) {
    await using store = await open();
    const given = await running(store);
    await store.ownerships.release(given);
    const { fence } = await claimed(store, given.evaluation, BOB);
    expect(fence).toBeGreaterThan(given.fence);
  },

  async 'the wish to cancel reaches the owner, and the one after it'({ open }) {
    await using store = await open();
    const first = await running(store);
    expect(await store.ownerships.renew(first, TTL)).toEqual({ cancelRequested: false });
    await store.evaluations.requestCancel(first.evaluation);
    expect(await store.ownerships.renew(first, TTL)).toEqual({ cancelRequested: true });
    await store.ownerships.release(first);
    const second = await claimed(store, first.evaluation, BOB);
    expect(await store.ownerships.renew(second, TTL)).toEqual({ cancelRequested: true });
  },

  async 'an evaluation that is over has no owner any more'({ open, clock }) {
    await using store = await open();
    const last = await running(store);
    await store.course.conclude(last, { state: 'finished', webhooks: [] });
    await clock.advance(10 * TTL);
    expect(await store.ownerships.claim(last.evaluation, BOB, TTL)).toBeUndefined();
    await expect(store.episodes.append(last, LEG, completedRange(0, 10))).rejects.toThrow(OwnershipLostError);
    await expect(store.ownerships.renew(last, TTL)).rejects.toThrow(OwnershipLostError);
  },
};

async function idsClaimable(store: EvaluationStore, limit: number): Promise<readonly string[]> {
  const claimable = await store.ownerships.listClaimable(limit);
  return claimable.map(({ id }) => id);
}
