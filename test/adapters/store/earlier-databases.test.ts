import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/adapters/store/sql/schema/database.ts';
import { toStep } from '../../../src/adapters/store/sql/schema/database.ts';
import { migrate } from '../../../src/adapters/store/sql/schema/migrate.ts';
import { MIGRATIONS } from '../../../src/adapters/store/sql/schema/migrations.ts';
import { sql } from '../../../src/adapters/store/sql/schema/statement.ts';
import { openSqlEvaluationStore } from '../../../src/adapters/store/sql/sql-evaluation-store.ts';
import { PostgresDatabase } from '../../../src/adapters/store/postgres/postgres-database.ts';
import { SqliteDatabase } from '../../../src/adapters/store/sqlite/sqlite-database.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import type { Digest } from '../../../src/kernel/ids.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';
import { failOnLeftoverProcesses } from '../../support/no-leftovers.ts';
import { PostgresServer } from '../../support/postgres-server.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());
failOnLeftoverProcesses();

/** Of the migrations before rights were kept. */
const BEFORE_RIGHTS = 3;

const OPENINGS = {
  SQLite: async (stack: AsyncDisposableStack): Promise<Database> => {
    const directory = stack.use(await ScratchDirectory.make());
    return stack.use(await SqliteDatabase.open(join(directory.path, 'muster.db'), systemClock));
  },
  PostgreSQL: async (stack: AsyncDisposableStack): Promise<Database> =>
    stack.use(await PostgresDatabase.open(await server.newDatabase(), 'it')),
};

const SENT = digestBytes('sent file');
const READ = digestBytes('file read by its URI');
const DIRECTORY = digestBytes('sent directory');
const PART = digestBytes('file of the directory');
const FOREIGN = digestBytes('known by its digest alone');
const HALF = digestBytes('directory of which one file is foreign');
const SUITE = digestBytes('modules of a suite');

function content(uri: string, digest: Digest, files: readonly Digest[] = [digest]): object {
  const kind = files[0] === digest ? 'file' : 'directory';
  return { uri, digest, kind, files: files.map((each, i) => ({ path: `part-${i}.bin`, size: 1, digest: each })), labels: {} };
}

function hex(digest: Digest): string {
  return digest.slice('sha256:'.length);
}

/** What an earlier Muster left: one principal who brought all of it, and one who used what it only knew the digests of. */
const REQUESTS: readonly (readonly [principal: string, request: object])[] = [
  ['trainer', { kind: 'evaluation', checkpoint: content('/runs/a.onnx', READ), suiteFiles: content('/suites/x', SUITE, [PART]) }],
  ['trainer', { kind: 'comparison', baseline: content(hex(SENT), SENT), candidates: [content(hex(DIRECTORY), DIRECTORY, [PART, SENT])] }],
  ['intruder', { kind: 'evaluation', checkpoint: content(hex(FOREIGN), FOREIGN) }],
  [
    'intruder',
    { kind: 'comparison', baseline: content(`sha256:${hex(READ)}`, READ), candidates: [content(hex(HALF), HALF, [PART, FOREIGN])] },
  ],
  // Half of a surrogate pair, as no database can read it: no right follows from it, and the migration goes on.
  ['trainer', { kind: 'evaluation', checkpoint: content('/runs/\ud800.onnx', FOREIGN) }],
  ['trainer', { suite: 'of a forgotten Muster' }],
];

async function fill(database: Database): Promise<void> {
  for (const [i, [principal, request]] of REQUESTS.entries())
    await database.transact([
      toStep(
        sql`INSERT INTO evaluations (id, principal, suite, labels, priority, request, state, created_at, events)
            VALUES (${`ev-${i}`}, ${principal}, 'fixture', '{}', 0, ${JSON.stringify(request)}, 'finished', 1, 1)`,
      ),
    ]);
  for (const [principal, digest] of [
    ['trainer', SENT],
    ['trainer', PART],
    ['intruder', PART],
  ] as const)
    await database.transact([toStep(sql`INSERT INTO charged_checkpoints (principal, digest, bytes) VALUES (${principal}, ${digest}, 1)`)]);
  const first = sql`(SELECT key FROM evaluations WHERE id = 'ev-0')`;
  await database.transact([
    toStep(sql`INSERT INTO cache_donors (cache_key, evaluation, arm) VALUES ('sha256:0', ${first}, 0)`),
    toStep(sql`INSERT INTO answers (question, evaluation) VALUES ('sha256:0', ${first})`),
  ]);
}

describe.each(Object.entries(OPENINGS))('a database of %s that was used before rights were kept', (_name, open) => {
  it('gives each principal what it sent or read, and nothing for a known digest alone', async () => {
    await using stack = new AsyncDisposableStack();
    const database = await open(stack);
    await migrate(database, 'it', systemClock, MIGRATIONS.slice(0, BEFORE_RIGHTS));
    await fill(database);
    await migrate(database, 'it', systemClock);
    const { rights } = await openSqlEvaluationStore(database, systemClock);
    const all = [SENT, READ, DIRECTORY, PART, FOREIGN, HALF, SUITE];
    const of = async (principal: string): Promise<ReadonlySet<Digest>> => new Set((await rights.findUsable(principal, all)).keys());
    expect((await rights.findUsable('trainer', [DIRECTORY])).get(DIRECTORY)).toEqual({ kind: 'directory', name: undefined });
    // SQLite can read the half of a surrogate pair: what it says is that the trainer named that file by its URI.
    const readable = _name === 'SQLite' ? [FOREIGN] : [];
    expect(await of('trainer')).toEqual(new Set([SENT, READ, DIRECTORY, PART, ...readable]));
    expect(await of('intruder')).toEqual(new Set([PART]));
  });

  it('shares none of its episodes and answers, and keeps its evaluations', async () => {
    await using stack = new AsyncDisposableStack();
    const database = await open(stack);
    await migrate(database, 'it', systemClock, MIGRATIONS.slice(0, BEFORE_RIGHTS));
    await fill(database);
    await migrate(database, 'it', systemClock);
    for (const table of [sql`cache_donors`, sql`answers`]) expect(await database.query(sql`SELECT * FROM ${table}`)).toEqual([]);
    expect(await database.query(sql`SELECT id FROM evaluations`)).toHaveLength(REQUESTS.length);
  });
});
