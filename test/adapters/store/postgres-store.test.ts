import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PostgresDatabase } from '../../../src/adapters/store/postgres/postgres-database.ts';
import { openPostgresStore } from '../../../src/adapters/store/postgres/open-postgres-store.ts';
import { sql } from '../../../src/adapters/store/sql/schema/statement.ts';
import type { EvaluationStore } from '../../../src/evaluation-store/evaluation-store.ts';
import { type Ownership, OwnershipLostError } from '../../../src/evaluation-store/ownership.ts';
import { createStoreCheck } from '../../../src/app/doctor/store-checks.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { InfrastructureError } from '../../../src/kernel/errors.ts';
import { eventually } from '../../support/eventually.ts';
import { extent } from '../../support/full-form.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { failOnLeftoverProcesses } from '../../support/no-leftovers.ts';
import { PostgresServer } from '../../support/postgres-server.ts';
import { accepted, BOB, claimed, completedRange, LEG, running, TTL } from '../../support/store-fixture.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());
failOnLeftoverProcesses();

describe('several Musters on one database', () => {
  it('may start at the same time', async () => {
    const url = await server.newDatabase();
    const stores = await Promise.all(Array.from({ length: 5 }, () => openPostgresStore(url, systemClock)));
    const [first, last] = [stores[0], stores.at(-1)];
    if (!first || !last) throw new Error('none was opened');
    const { id } = await accepted(first);
    expect(await last.evaluations.find(id)).toMatchObject({ id, state: 'waiting' });
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  // Twelve write as fast as they can: a round takes more than a second of two processors.
  it('take over from each other with everything that was stored, and nothing is written afterwards', { timeout: 300_000 }, async () => {
    const url = await server.newDatabase();
    const clock = new ManualClock();
    await using one = await openPostgresStore(url, clock);
    await using other = await openPostgresStore(url, clock);
    for (let round = 0; round < extent({ short: 5, full: 25 }); round += 1) {
      const former = await running(one);
      const stored = Promise.withResolvers<void>();
      const writing = Array.from({ length: 12 }, (_, i) => appendUntilRefused(one, former, i * 100_000, stored.resolve));
      await stored.promise;
      await clock.advance(TTL);
      await claimed(other, former.evaluation, BOB);
      const seen = await other.episodes.page(former.evaluation, 0, 0, 1_000_000);
      await Promise.all(writing);
      expect(await other.episodes.page(former.evaluation, 0, 0, 1_000_000)).toEqual(seen);
    }
  });
});

/** An owner that knows nothing of its successor. Everything up to the refusal was stored. */
async function appendUntilRefused(store: EvaluationStore, owned: Ownership, from: number, onStored: () => void): Promise<void> {
  for (let next = from; ; next += 20) {
    try {
      await store.episodes.append(owned, LEG, completedRange(next, next + 20));
    } catch (error) {
      if (error instanceof OwnershipLostError) return;
      throw error;
    }
    onStored();
  }
}

describe('a database', () => {
  it('is refused when a newer Muster has used it', async () => {
    const url = await server.newDatabase();
    await (await openPostgresStore(url, systemClock))[Symbol.asyncDispose]();
    await server.execute("INSERT INTO muster_migrations VALUES (99, 'from the future', 0)", new URL(url).pathname.slice(1));
    await expect(openPostgresStore(url, systemClock)).rejects.toMatchObject({ kind: 'input', code: 'store.newer' });
  });

  it('that does not exist, or has an invalid URL, is an input error', async () => {
    await expect(openPostgresStore(server.url('nowhere'), systemClock)).rejects.toMatchObject({ kind: 'input', code: 'store.unusable' });
    const message = expect.stringContaining(
      'or with a socket postgresql://user@localhost/database?host=/directory, with %40 for @ and %2F for / in the password, got ',
    );
    for (const url of [
      'mysql://host/name',
      'postgresql://muster@/name?host=/run/postgresql',
      'postgresql://muster:p@ss/word@host/name',
      'postgresql://muster:pass/word@host/name',
    ])
      await expect(openPostgresStore(url, systemClock)).rejects.toMatchObject({ kind: 'input', code: 'store.url', message });
  });

  it('that asks for a password is an input error without one, and no connection stays open', async () => {
    await server.execute("CREATE ROLE guarded SUPERUSER LOGIN PASSWORD 'p@ss/word'");
    const name = new URL(await server.newDatabase()).pathname.slice(1);
    const count = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'PipeWrap').length;
    const before = count();
    const message = expect.stringContaining('asks for a password');
    const refusal = { kind: 'input', code: 'store.unusable', message };
    await expect(openPostgresStore(server.url(name, 'guarded'), systemClock)).rejects.toMatchObject(refusal);
    expect(count()).toBe(before);
    await using store = await openPostgresStore(server.url(name, 'guarded:p%40ss%2Fword'), systemClock);
    await accepted(store);
  });

  it('whose server is away is an infrastructure failure that does not reveal the password', async () => {
    const failure = await openPostgresStore('postgresql://muster:secret@127.0.0.1:1/muster', systemClock).catch((error: unknown) => error);
    if (!(failure instanceof InfrastructureError)) throw new Error('it was reached');
    expect(failure.code).toBe('store.unreachable');
    expect(failure.message).toContain('the database muster on 127.0.0.1:1 cannot be reached');
    expect(failure.message).not.toContain('secret');
    const checked = await createStoreCheck('postgresql://muster:secret@127.0.0.1:1/muster').run(AbortSignal.timeout(60_000));
    expect(checked).toEqual({ status: 'problem', found: failure.message, remedy: expect.stringContaining('store.url') });
    const url = await server.newDatabase();
    expect(await createStoreCheck(url).run(AbortSignal.timeout(60_000))).toEqual({
      status: 'ok',
      found: expect.stringMatching(/PostgreSQL \d/),
    });
  });

  it('whose connection is cut between two statements fails only the next statement on it', async () => {
    const url = await server.newDatabase();
    await using database = await PostgresDatabase.open(url, 'it');
    const held = database.withLock(7, async () => {
      await server.execute(cut(url));
      await eventually(
        'it is cut',
        async () => (await database.query(sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory'`)).length === 0,
      );
    });
    await expect(held).rejects.toMatchObject({ kind: 'infrastructure', code: 'store.failed' });
    expect(await database.query(sql`SELECT 1 AS one`)).toMatchObject([{ one: 1 }]);
  });

  it('whose connections were cut is used again over new ones', async () => {
    const url = await server.newDatabase();
    await using store = await openPostgresStore(url, systemClock);
    const owned = await running(store);
    await server.execute(cut(url));
    // Each connection that was cut may fail its first user: the server tells of it when it comes to it.
    const failures: unknown[] = [];
    await eventually('it is stored', async () => {
      const failure = await store.episodes.append(owned, LEG, completedRange(0, 10)).catch((error: unknown) => error);
      if (failure !== undefined) failures.push(failure);
      return failure === undefined;
    });
    expect(failures.filter((failure) => !(failure instanceof InfrastructureError))).toEqual([]);
    expect(await store.episodes.page(owned.evaluation, 0, 0, 100)).toEqual(completedRange(0, 10));
  });
});

/** Ends all connections to the database. */
function cut(url: string): string {
  const name = new URL(url).pathname.slice(1);
  return `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = '${name}'`;
}
