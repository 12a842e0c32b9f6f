import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { readEpisodesFrom } from '../../../src/evaluation-store/episode-log.ts';
import type { EvaluationId } from '../../../src/kernel/ids.ts';
import { accepted, BOB, claimed, completed, completedRange, LEG, running, TTL } from '../../support/store-fixture.ts';
import { WRITTEN_AT_ONCE } from '../../support/store-writer-batch.ts';
import type { Case, EvaluationStoreSubject } from '../evaluation-store.ts';

const WRITER = path.join(import.meta.dirname, '../../support/store-writer.ts');

export const durability: Readonly<Record<string, Case>> = {
  async 'everything is there when it is opened again'({ open, clock }) {
    const { owned, before } = await (async () => {
      await using store = await open();
      const owned = await running(store, { labels: { a: 'b' } });
      await store.episodes.append(owned, LEG, completedRange(0, 100));
      await store.course.report(owned, { running: { mean: 1 }, events: [{ type: 'progress', data: {} }] });
      await store.evaluations.requestCancel(owned.evaluation);
      return { owned, before: await store.evaluations.find(owned.evaluation) };
    })();
    await using store = await open();
    expect(await store.evaluations.find(owned.evaluation)).toEqual(before);
    expect(await store.events.readAfter(owned.evaluation, 0, 10)).toHaveLength(3);
    expect(await store.episodes.page(owned.evaluation, 0, 0, 1000)).toEqual(completedRange(0, 100));
    // A store that only one process can have open ends ownerships when it is opened; where several can, they last their time.
    await clock.advance(TTL);
    await store.episodes.append(await claimed(store, owned.evaluation, BOB), LEG, completedRange(100, 110));
  },

  async 'a writer that is killed leaves everything whose storing was confirmed, and nothing half'(subject) {
    const { id } = await (async () => {
      await using store = await subject.open();
      return await accepted(store);
    })();
    let stored = 0;
    for (const lines of [1, 7, 23, 3, 40]) {
      const confirmed = await writeUntilKilled(subject, id, stored, lines);
      await using store = await subject.open();
      // Two batches are under way at a time, so the later one may be stored without the one before it.
      const batches = new Map<number, number>();
      for await (const episode of readEpisodesFrom(store.episodes, id, 0, 0)) {
        expect(episode).toEqual(completed(episode.index));
        const batch = Math.floor(episode.index / WRITTEN_AT_ONCE);
        batches.set(batch, (batches.get(batch) ?? 0) + 1);
      }
      expect(new Set(batches.values())).toEqual(new Set([WRITTEN_AT_ONCE]));
      let whole = 0;
      while (batches.has(whole)) whole += 1;
      expect(whole * WRITTEN_AT_ONCE).toBeGreaterThanOrEqual(confirmed);
      stored = whole * WRITTEN_AT_ONCE;
    }
  },
};

/** Another process appends batch after batch, and is killed when so many are confirmed. @returns how many episodes were confirmed. */
async function writeUntilKilled({ place }: EvaluationStoreSubject, id: EvaluationId, from: number, batches: number): Promise<number> {
  if (place === undefined) throw new Error('no other process can open it');
  const child = spawn(process.execPath, [WRITER, place, id, String(from)], { stdio: ['pipe', 'pipe', 'inherit'] });
  let confirmed = from;
  let lines = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    confirmed = Number(line);
    lines += 1;
    if (lines === batches) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  return confirmed;
}
