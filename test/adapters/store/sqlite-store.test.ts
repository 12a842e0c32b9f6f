import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { migrate } from '../../../src/adapters/store/sql/schema/migrate.ts';
import { MIGRATIONS } from '../../../src/adapters/store/sql/schema/migrations.ts';
import { toPlainSql, sql } from '../../../src/adapters/store/sql/schema/statement.ts';
import { openSqliteStore } from '../../../src/adapters/store/sqlite/open-sqlite-store.ts';
import { SqliteDatabase } from '../../../src/adapters/store/sqlite/sqlite-database.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';
import { failOnLeftoverProcesses } from '../../support/no-leftovers.ts';
import { accepted, completedRange, LEG, running } from '../../support/store-fixture.ts';

failOnLeftoverProcesses();

/** Of this process. */
const THREADS = '/proc/self/task';
/** Much longer than a thread takes to begin and to end on a machine that is as busy as this test. */
const LONGEST_BUSY_MS = 60_000;
const WRITER = join(import.meta.dirname, '../../support/store-writer.ts');

describe('the file of a store', () => {
  it('is refused to a second Muster, in this process or another, and is free again when the first was killed', async () => {
    await using directory = await ScratchDirectory.make();
    const path = join(directory.path, 'muster.db');
    const { id } = await (async () => {
      await using store = await openSqliteStore(path, systemClock);
      await expect(openSqliteStore(path, systemClock)).rejects.toMatchObject({ kind: 'input', code: 'store.in-use' });
      return await accepted(store);
    })();
    const child = spawn(process.execPath, [WRITER, path, id, '0'], { stdio: ['pipe', 'pipe', 'inherit'] });
    for await (const _line of createInterface({ input: child.stdout })) {
      if (child.killed) continue;
      await expect(openSqliteStore(path, systemClock)).rejects.toThrow(/muster\.db is in use by another Muster; stop that one/);
      child.kill('SIGKILL');
    }
    if (child.signalCode === null) await once(child, 'exit');
    await using store = await openSqliteStore(path, systemClock);
    expect((await store.episodes.page(id, 0, 0, 10)).length).toBe(10);
  });

  it('is refused also to a process that was busy from its request until the answers ended', async () => {
    await using directory = await ScratchDirectory.make();
    const path = join(directory.path, 'muster.db');
    await using _first = await openSqliteStore(path, systemClock);
    const before = new Set(readdirSync(THREADS));
    const opening = SqliteDatabase.open(path, systemClock);
    // Its thread exists from the call on. On a busy machine it may have ended before the first look.
    const isUnderWay = (): boolean => readdirSync(THREADS).some((thread) => !before.has(thread));
    const start = performance.now();
    while (isUnderWay() && performance.now() - start < LONGEST_BUSY_MS);
    expect(isUnderWay()).toBe(false);
    await expect(opening).rejects.toMatchObject({ code: 'store.in-use' });
  });

  it('is its owner’s alone to read', async () => {
    await using directory = await ScratchDirectory.make();
    const path = join(directory.path, 'muster.db');
    await using store = await openSqliteStore(path, systemClock);
    await store.episodes.append(await running(store), LEG, completedRange(0, 10));
    for (const file of [path, `${path}-wal`]) expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('is refused when it is something else', async () => {
    await using directory = await ScratchDirectory.make();
    const path = join(directory.path, 'muster.db');
    await writeFile(path, 'these are the notes of the last meeting, all of them, and no database');
    await expect(openSqliteStore(path, systemClock)).rejects.toMatchObject({ kind: 'input', code: 'store.unusable' });
    await expect(openSqliteStore(directory.path, systemClock)).rejects.toMatchObject({ kind: 'input', code: 'store.unusable' });
  });

  it('is refused when a newer Muster has used it, and stays as it is', async () => {
    await using directory = await ScratchDirectory.make();
    const path = join(directory.path, 'muster.db');
    await (await openSqliteStore(path, systemClock))[Symbol.asyncDispose]();
    const database = new DatabaseSync(path);
    database.exec("INSERT INTO muster_migrations VALUES (99, 'from the future', 0)");
    database.close();
    await expect(openSqliteStore(path, systemClock)).rejects.toMatchObject({
      kind: 'input',
      code: 'store.newer',
      message: expect.stringContaining('has the structure 99'),
    });
  });

  it('is free again after it was refused', async () => {
    await using directory = await ScratchDirectory.make();
    const path = join(directory.path, 'muster.db');
    await using database = await SqliteDatabase.open(path, systemClock);
    await migrate(database, path, systemClock, [...MIGRATIONS, { name: 'later', statements: () => ['CREATE TABLE later (a text)'] }]);
    await database[Symbol.asyncDispose]();
    await expect(openSqliteStore(path, systemClock)).rejects.toMatchObject({ code: 'store.newer' });
    const other = new DatabaseSync(path);
    expect(other.prepare('SELECT count(*) AS count FROM later').get()).toMatchObject({ count: 0 });
    other.close();
  });
});

describe('migrations', () => {
  const first = { name: 'first', statements: () => ['CREATE TABLE one (a text)', "INSERT INTO one VALUES ('kept')"] };
  const second = { name: 'second', statements: () => ['ALTER TABLE one ADD COLUMN b text', "UPDATE one SET b = 'new'"] };
  const broken = { name: 'broken', statements: () => ['CREATE TABLE two (a text)', 'CREATE TABLE one (a text)'] };

  it('are each applied once, and a later one continues from what there is', async () => {
    await using directory = await ScratchDirectory.make();
    await using database = await SqliteDatabase.open(join(directory.path, 'muster.db'), systemClock);
    await migrate(database, 'it', systemClock, [first]);
    await migrate(database, 'it', systemClock, [first, second]);
    await migrate(database, 'it', systemClock, [first, second]);
    expect(await database.query(sql`SELECT a, b FROM one`)).toMatchObject([{ a: 'kept', b: 'new' }]);
    expect(await database.query(sql`SELECT version, name FROM muster_migrations ORDER BY version`)).toMatchObject([
      { version: 1, name: 'first' },
      { version: 2, name: 'second' },
    ]);
  });

  it('are applied whole or not at all', async () => {
    await using directory = await ScratchDirectory.make();
    await using database = await SqliteDatabase.open(join(directory.path, 'muster.db'), systemClock);
    await expect(migrate(database, 'it', systemClock, [first, broken])).rejects.toThrow('one already exists');
    expect(await database.query(sql`SELECT name FROM muster_migrations`)).toMatchObject([{ name: 'first' }]);
    await expect(database.query(toPlainSql('SELECT * FROM two'))).rejects.toThrow('no such table');
  });
});
