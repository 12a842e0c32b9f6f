import { describe, expect, it } from 'vitest';
import type { EvaluationId } from '../../../src/kernel/ids.ts';
import { silentLog } from '../../../src/kernel/log.ts';
import { runningFiguresSchema, type RunningFigures } from '../../../src/service/orders/running-figures.ts';
import { News } from '../../../src/service/playing/news.ts';
import { LiveFeed, type LiveChanges } from '../../../src/service/watching/live-feed.ts';
import { ServiceFixture } from '../../support/service-fixture.ts';
import { accepted } from '../../support/store-fixture.ts';

const TICK = 500;

function figures(episodes: number): RunningFigures {
  const unknown = { mean: null, halfWidth: null, low: null, high: null, target: null, secondsLeft: null };
  return runningFiguresSchema.parse({
    kind: 'evaluation',
    ...unknown,
    episodes,
    outcomes: episodes,
    inFlight: 1,
    episodesPerSecond: 1,
    seconds: 1,
  });
}

/** A feed over two open evaluations, whose rows are counted as they are read. */
async function opened(): Promise<{
  fixture: ServiceFixture;
  news: News;
  ids: readonly [EvaluationId, EvaluationId];
  found: EvaluationId[];
  follow: () => AsyncGenerator<LiveChanges>;
  gone: AbortController;
}> {
  const fixture = new ServiceFixture();
  const { evaluations } = fixture.store;
  const news = new News();
  const found: EvaluationId[] = [];
  const feed = new LiveFeed({
    evaluations: {
      list: (...request) => evaluations.list(...request),
      find: (id) => {
        found.push(id);
        return evaluations.find(id);
      },
    },
    news,
    clock: fixture.clock,
    log: silentLog,
  });
  const ids = [(await accepted(fixture.store)).id, (await accepted(fixture.store)).id] as const;
  const gone = new AbortController();
  return { fixture, news, ids, found, follow: () => feed.read(gone.signal), gone };
}

async function read({ clock }: ServiceFixture, ...readers: readonly AsyncGenerator<LiveChanges>[]): Promise<readonly LiveChanges[]> {
  const items = readers.map((reader) => reader.next());
  await clock.advance(TICK);
  return (await Promise.all(items)).map(({ value }) => value);
}

describe('the feed of changes for open pages', () => {
  it('gives readers that keep up the same object, and a late one everything that it has missed', async () => {
    const { fixture, news, ids, follow, gone } = await opened();
    const [one, other] = [follow(), follow()];
    const [first, same] = await read(fixture, one, other);
    expect(first?.evaluations).toHaveLength(2);
    expect(same).toBe(first);
    for (const episodes of [1, 2, 3]) {
      news.announce(ids[0], 'progress', figures(episodes));
      if (episodes === 2) news.announce(ids[1], 'progress', figures(9));
      await read(fixture, one);
    }
    news.announce(ids[0], 'progress');
    const [last, all] = await read(fixture, one, other);
    expect([last?.evaluations.map(({ id }) => id), last?.running.size]).toEqual([[ids[0]], 0]);
    // It did not wait: what it had missed was there.
    expect(Array.from(all?.running ?? [], ([id, { episodes }]) => [id, episodes])).toEqual([
      [ids[0], 3],
      [ids[1], 9],
    ]);
    const [, rest] = await read(fixture, one, other);
    expect(rest?.evaluations.map(({ id }) => id)).toEqual([ids[0]]);
    gone.abort();
    for (const reader of [one, other]) await reader.return(undefined);
    expect(fixture.clock.pending).toBe(0);
  });

  it('does not read evaluations of this process again, and reads those of others at intervals', async () => {
    const { fixture, news, ids, found, follow, gone } = await opened();
    const [mine, theirs] = ids;
    const reader = follow();
    await read(fixture, reader);
    expect(found.toSorted()).toEqual(ids.toSorted());
    found.length = 0;
    for (let tick = 0; tick < 24; tick += 1) {
      news.announce(mine, 'progress', figures(tick));
      await read(fixture, reader);
    }
    expect(found).toEqual([theirs, theirs]);
    // Once nothing is said of it any more, another process may play it.
    for (let tick = 0; tick < 20; tick += 1) await read(fixture, reader);
    expect(found).toContain(mine);
    gone.abort();
    await reader.return(undefined);
    expect(fixture.clock.pending).toBe(0);
  });
});
