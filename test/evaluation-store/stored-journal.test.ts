import { expect, it } from 'vitest';
import { inMemoryEvaluationStore } from '../support/in-memory-store/in-memory-evaluation-store.ts';
import { Memory } from '../support/in-memory-store/memory.ts';
import type { EpisodeLog } from '../../src/evaluation-store/episode-log.ts';
import { StoredJournal } from '../../src/evaluation-store/stored-journal.ts';
import { ManualClock, settle } from '../support/manual-clock.ts';
import { completed, completedRange, running, SHARED_LEG } from '../support/store-fixture.ts';

it('episodes that come during an append go together with the next one', async () => {
  const { journal, log } = await gated();
  const appends = [0, 1, 2, 3].map((index) => journal.append([completed(index)]));
  expect(log.sizes).toEqual([1]);
  log.letThrough();
  await appends[0];
  await settle();
  appends.push(journal.append([completed(4)]));
  expect(log.sizes).toEqual([1, 3]);
  log.letThrough();
  await Promise.all(appends.slice(0, 4));
  await settle();
  expect(log.sizes).toEqual([1, 3, 1]);
  log.letThrough();
  await Promise.all(appends);
});

it('an append that fails does not fail another', async () => {
  const { journal, log } = await gated();
  const first = journal.append([completed(0)]);
  const second = journal.append([completed(1)]);
  log.letThrough(new Error('the disk is full'));
  await expect(first).rejects.toThrow('the disk is full');
  await settle();
  log.letThrough();
  await second;
  expect(log.sizes).toEqual([1, 1]);
});

it('knows its own episodes and those of others, and the index from which there may be more', async () => {
  const store = inMemoryEvaluationStore(new Memory(new ManualClock()));
  await store.episodes.append(await running(store), SHARED_LEG, [...completedRange(0, 10), ...completedRange(500, 510)]);
  const owned = await running(store);
  const journal = new StoredJournal(store, owned, SHARED_LEG);
  await journal.append(completedRange(20, 30));
  expect(await journal.readKnown(0, 5)).toEqual({ episodes: completedRange(0, 5), next: 5 });
  expect(await journal.readKnown(5, 15)).toEqual({ episodes: completedRange(5, 10), next: 20 });
  expect(await journal.readKnown(15, 100)).toEqual({ episodes: completedRange(20, 30), next: 500 });
  expect(await journal.readKnown(500, 600)).toEqual({ episodes: completedRange(500, 510), next: undefined });
  expect(await new StoredJournal(store, owned, { arm: 1, cacheKey: undefined }).readKnown(0, 10)).toEqual({
    episodes: [],
    next: undefined,
  });
});

/** A journal whose appends take until they are let through. */
async function gated(): Promise<{ journal: StoredJournal; log: { sizes: number[]; letThrough: (failure?: Error) => void } }> {
  const store = inMemoryEvaluationStore(new Memory(new ManualClock()));
  const sizes: number[] = [];
  let open: (failure?: Error) => void = () => undefined;
  const episodes: EpisodeLog = {
    page: (...request) => store.episodes.page(...request),
    rank: (...request) => store.episodes.rank(...request),
    readTranscript: (...request) => store.episodes.readTranscript(...request),
    append: (_ownership, _leg, batch) => {
      sizes.push(batch.length);
      return new Promise((resolve, reject) => {
        open = (failure) => (failure ? reject(failure) : resolve());
      });
    },
  };
  const journal = new StoredJournal({ episodes, cache: store.cache }, await running(store), SHARED_LEG);
  return { journal, log: { sizes, letThrough: (failure) => open(failure) } };
}
