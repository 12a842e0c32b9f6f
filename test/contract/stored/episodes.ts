import { expect } from 'vitest';
import { readEpisodesFrom, type EpisodeLog, type EpisodeRanking } from '../../../src/evaluation-store/episode-log.ts';
import type { Ownership } from '../../../src/evaluation-store/ownership.ts';
import type { Outcome } from '../../../src/kernel/outcome.ts';
import { completed, completedRange, LEG, running, SHARED_LEG } from '../../support/store-fixture.ts';
import type { Case } from '../evaluation-store.ts';

export const episodes: Readonly<Record<string, Case>> = {
  async 'every kind of outcome comes back as it was, to the last bit'({ open }) {
    await using store = await open();
    const owned = await running(store);
    const played = outcomes.map((outcome, index) => completed(index, { outcome, task: index % 3, seconds: 0.1 * index }));
    await store.episodes.append(owned, LEG, played);
    expect(await store.episodes.page(owned.evaluation, 0, 0, 100)).toEqual(played);
  },

  async 'what a sandbox printed comes back, whatever it is'({ open }) {
    await using store = await open();
    const owned = await running(store);
    const played = ['', 'two\nlines', 'NUL: \u0000', 'half a pair: \ud83d', '🎲 "quoted" \\ \'', 'x'.repeat(100_000)].map((text, index) =>
      completed(index, { log: text, outcome: { kind: 'failed', cause: 'policy-crash', detail: text } }),
    );
    await store.episodes.append(owned, LEG, played);
    expect(await store.episodes.page(owned.evaluation, 0, 0, 100)).toEqual(played);
  },

  async 'what its sandbox had used comes back, as much of it as was counted'({ open }) {
    await using store = await open();
    const owned = await running(store);
    const usages = [{}, { cpuSeconds: 0.125, peakMemoryBytes: 2 ** 40, processes: 3 }, { cpuSeconds: 0 }, { processes: 1 }];
    const played = usages.map((usage, index) => completed(index, { usage }));
    await store.episodes.append(owned, LEG, played);
    expect(await store.episodes.page(owned.evaluation, 0, 0, 100)).toEqual(played);
  },

  async 'the transcript of an agent comes back by itself, whatever is in it, and goes along where its episode is adopted'({ open }) {
    await using store = await open();
    const one = await running(store);
    const transcript = { steps: ['NUL: \u0000', 'half a pair: \ud83d', '🎲', 'x'.repeat(1_000_000)] };
    const told = [completed(0), { ...completed(1), transcript }, { ...completed(2, { seconds: 9 }), transcript: { steps: [] } }];
    await store.episodes.append(one, SHARED_LEG, told);
    const read = (of: Ownership, index: number, arm = 0): Promise<string | undefined> =>
      store.episodes.readTranscript(of.evaluation, arm, index);
    expect(await store.episodes.page(one.evaluation, 0, 0, 10)).toEqual([completed(0), completed(1), completed(2, { seconds: 9 })]);
    expect(await read(one, 1)).toBe(JSON.stringify(transcript));
    expect([await read(one, 0), await read(one, 7), await read(one, 1, 1)]).toEqual([undefined, undefined, undefined]);
    const other = await running(store);
    // An own play of the same index is another one.
    await store.episodes.append(other, { ...SHARED_LEG, arm: 3 }, [completed(2)]);
    await store.cache.adopt(other, { ...SHARED_LEG, arm: 3 }, 0, 10);
    expect([await read(other, 1, 3), await read(other, 2, 3)]).toEqual([JSON.stringify(transcript), undefined]);
  },

  async 'an index that is stored stays as it is'({ open }) {
    await using store = await open();
    const owned = await running(store);
    await store.episodes.append(owned, LEG, completedRange(0, 10));
    const changed = Array.from({ length: 10 }, (_, i) => completed(5 + i, { seconds: 99 }));
    await store.episodes.append(owned, LEG, changed);
    expect(await store.episodes.page(owned.evaluation, 0, 0, 100)).toEqual([...completedRange(0, 10), ...changed.slice(5)]);
  },

  async 'they come by index from any index on, in whatever order they were stored, gaps left out'({ open }) {
    await using store = await open();
    const owned = await running(store);
    for (const from of [400, 0, 200]) await store.episodes.append(owned, LEG, completedRange(from, from + 100).toReversed());
    const indices = async (from: number, limit: number): Promise<readonly number[]> =>
      (await store.episodes.page(owned.evaluation, 0, from, limit)).map(({ index }) => index);
    expect(await indices(0, 3)).toEqual([0, 1, 2]);
    expect(await indices(98, 4)).toEqual([98, 99, 200, 201]);
    expect(await indices(100, 2)).toEqual([200, 201]);
    expect(await indices(498, 10)).toEqual([498, 499]);
    expect(await indices(500, 10)).toEqual([]);
  },

  async 'those that a person looks for come first, page by page'({ open }) {
    await using store = await open();
    const owned = await running(store);
    const of = (value: number, length: number): Outcome => ({ kind: 'completed', return: value, length, metrics: {} });
    const crashed: Outcome = { kind: 'failed', cause: 'policy-crash', detail: 'gone' };
    const baseline = [of(1, 1), of(1, 1), crashed, of(-4, 1)];
    const played = [of(2, 9), of(-3, 7), of(5, 8), of(2, 9), crashed];
    const toEpisodes = (outcomes: readonly Outcome[]): ReturnType<typeof completed>[] =>
      outcomes.map((outcome, index) => completed(index, { outcome, seconds: (index * 3) % 5 }));
    await store.episodes.append(owned, { arm: 0, cacheKey: undefined }, toEpisodes(baseline));
    await store.episodes.append(owned, { arm: 1, cacheKey: undefined }, toEpisodes(played));
    const rank = async (ranking: EpisodeRanking, arm = 1, page = { from: 0, limit: 10 }): Promise<readonly number[]> =>
      (await store.episodes.rank(owned.evaluation, arm, ranking, page)).map(({ index }) => index);
    expect(await rank('worst')).toEqual([1, 0, 3, 2]);
    expect(await rank('best')).toEqual([2, 0, 3, 1]);
    expect(await rank('longest')).toEqual([0, 3, 2, 1]);
    expect(await rank('slowest')).toEqual([3, 1, 4, 2, 0]);
    expect(await rank('discordant')).toEqual([3, 1, 0]);
    expect(await rank('discordant', 0)).toEqual([]);
    expect(await rank('failed')).toEqual([4]);
    expect(await rank('worst', 1, { from: 1, limit: 2 })).toEqual([0, 3]);
    expect(await store.episodes.rank(owned.evaluation, 1, 'best', { from: 0, limit: 1 })).toEqual([toEpisodes(played)[2]]);
  },

  async 'each arm and each evaluation has its own'({ open }) {
    await using store = await open();
    const one = await running(store);
    const other = await running(store);
    await store.episodes.append(one, { arm: 0, cacheKey: undefined }, completedRange(0, 3));
    await store.episodes.append(one, { arm: 1, cacheKey: undefined }, completedRange(10, 12));
    await store.episodes.append(other, { arm: 0, cacheKey: undefined }, completedRange(20, 21));
    expect(await store.episodes.page(one.evaluation, 0, 0, 10)).toEqual(completedRange(0, 3));
    expect(await store.episodes.page(one.evaluation, 1, 0, 10)).toEqual(completedRange(10, 12));
    expect(await store.episodes.page(other.evaluation, 0, 0, 10)).toEqual(completedRange(20, 21));
  },

  async 'a stream of them reads no further than it is taken'({ open }) {
    await using store = await open();
    const owned = await running(store);
    await store.episodes.append(owned, LEG, completedRange(0, 10_000));
    let read = 0;
    const counted: EpisodeLog = {
      append: () => Promise.reject(new Error('this append was not expected')),
      page: async (...request) => {
        const page = await store.episodes.page(...request);
        read += page.length;
        return page;
      },
      rank: () => Promise.reject(new Error('no ranking was expected')),
      readTranscript: () => Promise.reject(new Error('no transcript was expected')),
    };
    let taken = 0;
    for await (const { index } of readEpisodesFrom(counted, owned.evaluation, 0, 7)) {
      expect(index).toBe(7 + taken);
      taken += 1;
      if (taken === 3000) break;
    }
    expect(read).toBeLessThan(3000 + 2048);
  },

  async 'many of them, appended at many places at a time, are all there'({ open }) {
    await using store = await open();
    const owned = await running(store);
    const batches = Array.from({ length: 100 }, (_, i) => completedRange(i * 200, (i + 1) * 200));
    await Promise.all(batches.map((batch) => store.episodes.append(owned, LEG, batch)));
    let next = 0;
    for await (const episode of readEpisodesFrom(store.episodes, owned.evaluation, 0, 0)) {
      expect(episode).toEqual(completed(next));
      next += 1;
    }
    expect(next).toBe(20_000);
  },
};

const returns = [0, 1, -1, 0.1 + 0.2, 1 / 3, Number.MIN_VALUE, -Number.MAX_VALUE, 2 ** 53, 1e21];
const outcomes: readonly Outcome[] = [
  ...returns.map((value): Outcome => ({ kind: 'completed', return: value, length: 1, metrics: {} })),
  { kind: 'completed', return: 3, length: 10_000_000, metrics: { speed: 0.1, __proto__x: 2, 'na.me': -0.5 } },
  { kind: 'failed', cause: 'timeout', detail: '' },
  { kind: 'failed', cause: 'out-of-bounds', detail: 'a return of 12 is above 10' },
  { kind: 'lost', detail: 'its sandbox was killed in every attempt' },
];
