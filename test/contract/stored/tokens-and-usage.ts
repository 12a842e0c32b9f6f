import { expect } from 'vitest';
import type { NewToken } from '../../../src/evaluation-store/tokens.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import { parseTokenId } from '../../../src/kernel/ids.ts';
import { accepted, claimed, completedRange, LEG, running, SHARED_LEG } from '../../support/store-fixture.ts';
import type { Case } from '../evaluation-store.ts';

const HOUR = 3_600_000;

export const tokensAndUsage: Readonly<Record<string, Case>> = {
  async 'a token is found as it was made, also when the store is opened again'({ open, clock }) {
    const token = newToken('a1', { role: 'operator', expiresAt: new Date(clock.date().getTime() + HOUR) });
    const endless = newToken('a2', { expiresAt: undefined });
    await (async () => {
      await using store = await open();
      expect(await store.tokens.create(token)).toEqual({ ...token, createdAt: clock.date(), revokedAt: undefined });
      await store.tokens.create(endless);
    })();
    await using store = await open();
    expect(await store.tokens.find(token.id)).toEqual({ ...token, createdAt: clock.date(), revokedAt: undefined });
    expect(await store.tokens.find(endless.id)).toEqual({ ...endless, createdAt: clock.date(), revokedAt: undefined });
    expect(await store.tokens.find(parseTokenId('unknown'))).toBeUndefined();
  },

  async 'of two tokens with one id the second is refused, and the first stays'({ open }) {
    await using store = await open();
    const first = await store.tokens.create(newToken('a1'));
    await expect(store.tokens.create(newToken('a1', { principal: 'intruder', role: 'operator' }))).rejects.toMatchObject({
      kind: 'infrastructure',
    });
    expect(await store.tokens.find(first.id)).toEqual(first);
  },

  async 'a token that is revoked stays so since the first time, and others are left alone'({ open, clock }) {
    await using store = await open();
    const token = await store.tokens.create(newToken('a1'));
    const other = await store.tokens.create(newToken('a2'));
    await clock.advance(1000);
    const revoked = { ...token, revokedAt: clock.date() };
    expect(await store.tokens.revoke(token.id)).toEqual(revoked);
    await clock.advance(1000);
    expect(await store.tokens.revoke(token.id)).toEqual(revoked);
    expect(await store.tokens.find(token.id)).toEqual(revoked);
    expect(await store.tokens.find(other.id)).toEqual(other);
    expect(await store.tokens.revoke(parseTokenId('unknown'))).toBeUndefined();
  },

  async 'tokens are listed latest first, page by page, whatever is made meanwhile'({ open, clock }) {
    await using store = await open();
    const made: string[] = [];
    for (let i = 0; i < 8; i += 1) {
      // Some in the same millisecond.
      if (i % 3 === 0) await clock.advance(1);
      made.push((await store.tokens.create(newToken(`a${i}`))).id);
    }
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await store.tokens.list({ limit: 3, after });
      seen.push(...page.items.map(({ id }) => id));
      after = page.next;
      await clock.advance(1);
      await store.tokens.create(newToken(`later-${seen.length}`));
    } while (after !== undefined);
    expect(seen).toEqual(made.toReversed());
    await expect(store.tokens.list({ limit: 3, after: 'nonsense' })).rejects.toMatchObject({ code: 'cursor.invalid' });
  },

  async 'only what waits counts as waiting, for each principal by itself'({ open }) {
    await using store = await open();
    expect(await store.usage.countWaiting('pipeline')).toBe(0);
    const first = await accepted(store);
    await accepted(store);
    await accepted(store, { principal: 'researcher' });
    expect(await store.usage.countWaiting('pipeline')).toBe(2);
    const owned = await claimed(store, first.id);
    await store.course.begin(owned);
    expect(await store.usage.countWaiting('pipeline')).toBe(1);
    await store.course.conclude(owned, { state: 'finished', webhooks: [] });
    expect(await store.usage.countWaiting('pipeline')).toBe(1);
    expect(await store.usage.countWaiting('researcher')).toBe(1);
  },

  async 'episodes are counted by the hour in which they were stored, whatever becomes of the evaluation'({ open, clock }) {
    await using store = await open();
    const [first, second, others] = [await running(store), await running(store), await running(store, { principal: 'researcher' })];
    await store.episodes.append(first, LEG, completedRange(0, 10));
    await clock.advance(HOUR - 1);
    await store.episodes.append(first, { ...LEG, arm: 1 }, completedRange(0, 5));
    await clock.advance(1);
    await store.episodes.append(second, LEG, completedRange(0, 3));
    await store.episodes.append(others, LEG, completedRange(0, 100));
    await store.course.conclude(first, { state: 'cancelled', webhooks: [] });
    const since = (hours: number): Date => new Date(clock.date().getTime() + hours * HOUR);
    expect(await store.usage.countEpisodesSince('pipeline', since(-1))).toBe(18);
    expect(await store.usage.countEpisodesSince('pipeline', since(0))).toBe(3);
    expect(await store.usage.countEpisodesSince('pipeline', since(0.5))).toBe(3);
    expect(await store.usage.countEpisodesSince('pipeline', since(1))).toBe(0);
    expect(await store.usage.countEpisodesSince('nobody', since(-1))).toBe(0);
  },

  async 'an answer that others have played costs nothing'({ open, clock }) {
    await using store = await open();
    await store.episodes.append(await running(store), SHARED_LEG, completedRange(0, 10));
    const asking = await running(store, { principal: 'researcher' });
    await store.cache.adopt(asking, SHARED_LEG, 0, 10);
    expect(await store.usage.countEpisodesSince('researcher', clock.date())).toBe(0);
  },

  async 'an owner that has lost its evaluation charges no principal'({ open, clock }) {
    await using store = await open();
    const late = await running(store);
    await store.course.conclude(late, { state: 'finished', webhooks: [] });
    await expect(store.episodes.append(late, LEG, completedRange(0, 10))).rejects.toMatchObject({ code: 'store.ownership-lost' });
    expect(await store.usage.countEpisodesSince('pipeline', clock.date())).toBe(0);
  },

  async 'a checkpoint is charged once to each who brought it, until it is gone'({ open }) {
    await using store = await open();
    const [large, small] = [digestBytes('large'), digestBytes('small')];
    for (const principal of ['pipeline', 'pipeline', 'researcher']) await store.usage.chargeCheckpoint(principal, large, 50 * 2 ** 30);
    await store.usage.chargeCheckpoint('pipeline', small, 7);
    expect(await store.usage.sumCheckpointBytes('pipeline')).toBe(50 * 2 ** 30 + 7);
    expect(await store.usage.sumCheckpointBytes('researcher')).toBe(50 * 2 ** 30);
    await store.usage.creditCheckpoint(large);
    expect(await store.usage.sumCheckpointBytes('pipeline')).toBe(7);
    expect(await store.usage.sumCheckpointBytes('researcher')).toBe(0);
    expect(await store.usage.sumCheckpointBytes('nobody')).toBe(0);
  },
};

function newToken(id: string, changes: Partial<NewToken> = {}): NewToken {
  return {
    id: parseTokenId(id),
    principal: 'pipeline',
    role: 'submitter',
    secretDigest: digestBytes(`secret of ${id}`),
    expiresAt: undefined,
    ...changes,
  };
}
