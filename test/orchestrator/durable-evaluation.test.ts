import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { readEpisodesFrom } from '../../src/evaluation-store/episode-log.ts';
import type { EvaluationStore } from '../../src/evaluation-store/evaluation-store.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { drawIndex, createSeededRandom } from '../../src/kernel/seeded-random.ts';
import { ScratchDirectory } from '../policy-distribution/scratch-directory.ts';
import { durableSuite, playStudy } from '../support/durable-study.ts';
import { extent, isFullForm, sampled } from '../support/full-form.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import { openStore } from '../support/store-place.ts';
import { accepted } from '../support/store-fixture.ts';

failOnLeftoverProcesses();

const PROCESS = join(import.meta.dirname, '../support/durable-process.ts');
/** Any episode of the first 150 that a process plays may be its last. */
const KILLS = extent({ short: 3, full: 4 });
const STOPS = [
  { rule: 'fixed', episodes: 700 },
  { rule: 'certified', halfWidth: 0.05 },
  { rule: 'approximate', halfWidth: 0.025 },
] as const;
const studies = STOPS.flatMap((stop) =>
  (['proportional', 'adaptive'] as const).map((allocation) => ({ rule: stop.rule, stop, allocation })),
);
/** A rule that decides from the results, and each allocation. In PostgreSQL the number of episodes is fixed. */
const SHORT = new Set(['certified, adaptive', 'approximate, proportional']);

test.each(sampled(studies, ({ rule, allocation }) => SHORT.has(`${rule}, ${allocation}`)))(
  'an evaluation whose Muster is killed again and again comes to the result of an undisturbed one: $rule, $allocation',
  async ({ stop, allocation }) => {
    await using directory = await ScratchDirectory.make();
    const undisturbed = await playStudy(durableSuite(stop, allocation), {});
    const summary = await summaryAfterKills(join(directory.path, 'muster.db'), stop, allocation);
    expect(JSON.stringify(summary)).toContain(`"official":${JSON.stringify(undisturbed.official)},`);
  },
);

// In the short form, shared-store.test.ts takes over in PostgreSQL what a killed Muster was playing.
test.runIf(isFullForm)('an evaluation in PostgreSQL does so, too', async () => {
  await using server = await PostgresServer.start();
  const undisturbed = await playStudy(durableSuite(STOPS[0], 'adaptive'), {});
  const summary = await summaryAfterKills(await server.newDatabase(), STOPS[0], 'adaptive');
  expect(JSON.stringify(summary)).toContain(`"official":${JSON.stringify(undisturbed.official)},`);
});

/** As it is stored at last. */
async function summaryAfterKills(place: string, stop: (typeof STOPS)[number], allocation: string): Promise<unknown> {
  const { id } = await (async () => {
    await using store = await openStore(place, systemClock);
    return await accepted(store);
  })();

  const random = createSeededRandom('kills', 7);
  const stored = new Set<number>();
  let kills = 0;
  for (let isOver = false; !isOver;) {
    const last = kills < KILLS ? 1 + drawIndex(random, 150) : null;
    const { played, killed } = await playUntilKilled({ place, id, owner: `muster-${kills}`, stop, allocation, last });
    expect(played.filter((index) => stored.has(index))).toEqual([]);
    await using store = await openStore(place, systemClock);
    for (const index of await indicesOf(store, id)) stored.add(index);
    if (killed) kills += 1;
    else isOver = (await store.evaluations.find(id))?.state === 'finished';
    expect(killed || isOver).toBe(true);
  }

  await using store = await openStore(place, systemClock);
  const evaluation = await store.evaluations.find(id);
  expect(kills).toBeGreaterThan(2);
  expect(evaluation?.summary).toMatchObject({ partial: false });
  return evaluation?.summary;
}

interface Order {
  readonly place: string;
  readonly id: string;
  readonly owner: string;
  readonly stop: object;
  readonly allocation: string;
  /** So many it plays before it is killed; null for all that are left. */
  readonly last: number | null;
}

/** @returns what it played, as far as it got to say so, until it was over or was killed. */
async function playUntilKilled(order: Order): Promise<{ readonly played: readonly number[]; readonly killed: boolean }> {
  const child = spawn(process.execPath, [PROCESS, JSON.stringify(order)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const played: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    played.push(Number(line));
    if (played.length === order.last) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  const killed = child.signalCode === 'SIGKILL';
  if (!killed && child.exitCode !== 0) throw new Error(`the other Muster ended with ${child.exitCode ?? child.signalCode}`);
  return { played, killed };
}

async function indicesOf(store: EvaluationStore, id: Parameters<EvaluationStore['evaluations']['find']>[0]): Promise<readonly number[]> {
  const indices: number[] = [];
  for await (const { index } of readEpisodesFrom(store.episodes, id, 0, 0)) indices.push(index);
  return indices;
}
