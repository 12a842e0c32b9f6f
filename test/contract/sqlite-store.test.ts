import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/adapters/store/sqlite/open-sqlite-store.ts';
import { ScratchDirectory } from '../policy-distribution/scratch-directory.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { BOB, claimed, LEG, running, toldRange } from '../support/store-fixture.ts';
import { evaluationStoreContract } from './evaluation-store.ts';
import { rolloutStreamsContract } from './rollout-streams.ts';
import { makeTables, subjectAt } from './stored/opened-stores.ts';
import { taskRecordsContract } from './task-records.ts';
import { trajectoriesContract } from './trajectories.ts';

failOnLeftoverProcesses();

let template: ScratchDirectory;
beforeAll(async () => {
  template = await ScratchDirectory.make();
  await makeTables(join(template.path, 'muster.db'));
});
afterAll(() => template[Symbol.asyncDispose]());

/** A copy of a store that has the tables already. */
async function makeSubject(): Promise<ReturnType<typeof subjectAt>> {
  const directory = await ScratchDirectory.make();
  await cp(template.path, directory.path, { recursive: true });
  return subjectAt(join(directory.path, 'muster.db'), () => directory[Symbol.asyncDispose]());
}

evaluationStoreContract('SQLite', makeSubject);
trajectoriesContract('SQLite', makeSubject);
taskRecordsContract('SQLite', makeSubject);
rolloutStreamsContract('SQLite', makeSubject);

it('evaluations of a dead process can be claimed at once: no other process can have the file open', async () => {
  await using directory = await ScratchDirectory.make();
  const path = join(directory.path, 'muster.db');
  const clock = new ManualClock();
  const dead = await openSqliteStore(path, clock);
  const ownership = await running(dead);
  await dead[Symbol.asyncDispose]();
  await using store = await openSqliteStore(path, clock);
  const taken = await claimed(store, ownership.evaluation, BOB);
  expect(taken.fence).toBeGreaterThan(ownership.fence);
});

it('nothing is left of the episodes and transcripts of an evaluation that is forgotten', async () => {
  await using directory = await ScratchDirectory.make();
  const path = join(directory.path, 'muster.db');
  const clock = new ManualClock();
  const store = await openSqliteStore(path, clock);
  const over = await running(store);
  await store.episodes.append(over, LEG, toldRange(0, 3));
  await store.course.conclude(over, { state: 'finished', webhooks: [] });
  await store[Symbol.asyncDispose]();
  expect(countRows(path, ['episodes', 'transcripts'])).toEqual([3, 3]);
  await clock.advance(1);
  const again = await openSqliteStore(path, clock);
  expect(await again.evaluations.forgetEnded(clock.date(), 10)).toBe(1);
  await again[Symbol.asyncDispose]();
  expect(countRows(path, ['episodes', 'transcripts'])).toEqual([0, 0]);
});

function countRows(path: string, tables: readonly string[]): readonly unknown[] {
  using database = new DatabaseSync(path, { readOnly: true });
  return tables.map((table) => database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.['rows']);
}
