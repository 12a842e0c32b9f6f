import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/adapters/store/sqlite/open-sqlite-store.ts';
import type { EvaluationStore } from '../../src/evaluation-store/evaluation-store.ts';
import { OwnershipLostError } from '../../src/evaluation-store/ownership.ts';
import { StoredJournal } from '../../src/evaluation-store/stored-journal.ts';
import { buildCacheKey } from '../../src/evaluation-store/cache-key.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { InfrastructureError } from '../../src/kernel/errors.ts';
import { describeDraw } from '../../src/orchestrator/suite/draw.ts';
import { EvaluationFailedError } from '../../src/orchestrator/evaluate.ts';
import type { SuiteDefinition } from '../../src/orchestrator/suite/suite-definition.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { ScratchDirectory } from '../policy-distribution/scratch-directory.ts';
import { PAPER_CHECKPOINT } from '../support/evaluation-fixture.ts';
import { MapJournal } from '../support/map-journal.ts';
import { durableSuite, playStudy, type Play } from '../support/durable-study.ts';
import { ALICE, BOB, claimed, completed, LEG, running } from '../support/store-fixture.ts';

const FIXED = durableSuite({ rule: 'fixed', episodes: 400 }, 'proportional');

describe('an evaluation with a journal', () => {
  it('counts no episode before it is stored', async () => {
    const journal = new MapJournal();
    const early: number[] = [];
    const write = ({ index }: { index: number }): undefined => void (journal.episodes.has(index) || early.push(index));
    const summary = await playStudy(FIXED, { options: { journal, episodes: { write } } });
    expect(journal.episodes.size).toBe(400);
    expect(early).toEqual([]);
    expect(summary.official).toEqual((await playStudy(FIXED, {})).official);
  });

  it('fails when an episode cannot be stored, and does not count that episode', async () => {
    const journal = new MapJournal();
    journal.onAppend = () => {
      if (journal.episodes.size > 100) throw new InfrastructureError('store.failed', 'the disk is full');
    };
    const failure = await playStudy(FIXED, { options: { journal } }).catch((error: unknown) => error);
    if (!(failure instanceof EvaluationFailedError)) throw new Error('it did not fail');
    expect(failure.partial.official.episodes).toBeLessThanOrEqual(journal.episodes.size);
    expect(failure.message).toContain('the disk is full');
  });

  it('plays only the missing indices, wherever they are', async () => {
    const whole = new MapJournal();
    const undisturbed = await playStudy(FIXED, { options: { journal: whole } });
    const missing = new Set([0, 1, 63, 64, 65, 200, 398, ...Array.from({ length: 50 }, (_, i) => 300 + i)]);
    const journal = new MapJournal([...whole.episodes.values()].filter(({ index }) => !missing.has(index)));
    const played = new Set<number>();
    const summary = await playStudy(FIXED, { onPlay: (index) => played.add(index), options: { journal } });
    expect(played).toEqual(missing);
    expect(summary.run.recalled).toBe(400 - missing.size);
    expect(JSON.stringify(summary.official)).toBe(JSON.stringify(undisturbed.official));
  });

  it('needs no sandbox when everything is known', async () => {
    const journal = new MapJournal();
    const undisturbed = await playStudy(FIXED, { options: { journal } });
    const again = await playStudy(FIXED, { options: { journal } });
    expect(again.official).toEqual(undisturbed.official);
    expect(again.run).toMatchObject({ recalled: 400, outcomes: 0, sandboxSeconds: 0 });
    expect(again.run.pool.created).toBe(0);
  });

  it('takes a known episode far ahead only in its turn', async () => {
    const suite = durableSuite({ rule: 'fixed', episodes: 2000 }, 'proportional');
    const whole = new MapJournal();
    const undisturbed = await playStudy(suite, { options: { journal: whole } });
    const journal = new MapJournal([...whole.episodes.values()].filter(({ index }) => index !== 3));
    let furthest = 0;
    const onPlay = (): void => void (furthest ||= journal.furthest);
    const summary = await playStudy(suite, { sandboxes: 1, window: 100, onPlay, options: { journal } });
    expect(furthest).toBe(1024);
    expect(summary.run.recalled).toBe(1999);
    expect(JSON.stringify(summary.official)).toBe(JSON.stringify(undisturbed.official));
  });

  it('refuses an episode that is stored as one of another task', async () => {
    const journal = new MapJournal(Array.from({ length: 10 }, (_, index) => completed(index, { task: 2 })));
    const failure = await playStudy(FIXED, { options: { journal } }).catch((error: unknown) => error);
    if (!(failure instanceof EvaluationFailedError)) throw new Error('it did not fail');
    expect(failure.cause).toMatchObject({ code: 'store.episode-differs' });
  });
});

describe('evaluations that share a store', () => {
  it('play nothing again when they are repeated or extended', async () => {
    await using fixture = await StoreFixture.open();
    const narrow = durableSuite({ rule: 'certified', halfWidth: 0.06 }, 'proportional');
    const wide = durableSuite({ rule: 'certified', halfWidth: 0.1 }, 'proportional');
    const alone = { narrow: await playStudy(narrow, {}), wide: await playStudy(wide, {}) };

    const first = await fixture.evaluate({ suite: wide });
    expect(first.played.size).toBeGreaterThanOrEqual(alone.wide.official.episodes);
    const again = await fixture.evaluate({ suite: wide });
    // What was lost is no result: it is tried again.
    expect([...again.played].filter((index) => !first.lost.has(index))).toEqual([]);
    const more = await fixture.evaluate({ suite: narrow });
    expect([...more.played].filter((index) => first.played.has(index) && !first.lost.has(index))).toEqual([]);
    const stored = new Set([first, again].flatMap(({ played, lost }) => [...played].filter((index) => !lost.has(index))));
    expect(more.summary.run.recalled).toBe(stored.size);
    expect([first, again, more].map(({ summary }) => JSON.stringify(summary.official))).toEqual(
      [alone.wide, alone.wide, alone.narrow].map(({ official }) => JSON.stringify(official)),
    );
  });

  it('play other episodes where adaptive allocation draws other tasks', async () => {
    await using fixture = await StoreFixture.open();
    const narrow = durableSuite({ rule: 'certified', halfWidth: 0.06 }, 'adaptive');
    const wide = durableSuite({ rule: 'certified', halfWidth: 0.1 }, 'adaptive');
    const alone = await playStudy(narrow, {});
    const other = await fixture.evaluate({ suite: wide });
    const again = await fixture.evaluate({ suite: wide });
    expect([...again.played].filter((index) => !other.lost.has(index))).toEqual([]);
    expect(JSON.stringify(again.summary.official)).toBe(JSON.stringify(other.summary.official));
    const { summary } = await fixture.evaluate({ suite: narrow });
    expect(summary.run.recalled).toBe(0);
    expect(JSON.stringify(summary.official)).toBe(JSON.stringify(alone.official));
  });

  it('end when another has taken over, and store nothing more', async () => {
    await using fixture = await StoreFixture.open();
    const owned = await running(fixture.store);
    let taken: Promise<unknown> | undefined;
    const onPlay = (index: number): void => {
      if (index < 100 || taken) return;
      taken = fixture.store.ownerships.release(owned).then(() => claimed(fixture.store, owned.evaluation, BOB));
    };
    const journal = new StoredJournal(fixture.store, owned, LEG);
    const failure = await playStudy(FIXED, { slowness: 50, onPlay, options: { journal } }).catch((error: unknown) => error);
    expect(owned.owner).toBe(ALICE);
    if (!(failure instanceof EvaluationFailedError)) throw new Error('it did not fail');
    expect(failure.cause).toBeInstanceOf(OwnershipLostError);
    expect((await fixture.store.episodes.page(owned.evaluation, 0, 0, 1000)).length).toBeLessThan(400);
  });
});

class StoreFixture implements AsyncDisposable {
  readonly store: EvaluationStore;
  readonly #directory: ScratchDirectory;

  private constructor(store: EvaluationStore, directory: ScratchDirectory) {
    this.store = store;
    this.#directory = directory;
  }

  static async open(): Promise<StoreFixture> {
    const directory = await ScratchDirectory.make();
    return new StoreFixture(await openSqliteStore(join(directory.path, 'muster.db'), systemClock), directory);
  }

  /** `lost`: those of the played ones that came to nothing. */
  async evaluate({
    suite,
    ...play
  }: Play & { suite: SuiteDefinition }): Promise<{ summary: Summary; played: Set<number>; lost: Set<number> }> {
    const owned = await running(this.store);
    const { digest } = PAPER_CHECKPOINT;
    const parts = {
      checkpoint: digest,
      suite: suite.digest,
      template: digestBytes('template'),
      draw: describeDraw(suite),
      runs: 'data',
    } as const;
    const key = buildCacheKey(parts, 'pipeline');
    const journal = new StoredJournal(this.store, owned, { arm: 0, cacheKey: key });
    const played = new Set<number>();
    const summary = await playStudy(suite, { ...play, onPlay: (index) => played.add(index), options: { journal } });
    await this.store.course.conclude(owned, { state: 'finished', summary, webhooks: [] });
    const kept = await this.store.episodes.page(owned.evaluation, 0, 0, 10_000);
    const resolved = new Set<number>(kept.filter(({ outcome }) => outcome.kind !== 'lost').map(({ index }) => index));
    return { summary, played, lost: played.difference(resolved) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }
}
