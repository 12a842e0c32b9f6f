import { Client, Pool, types, type ClientConfig, type PoolClient } from 'pg';
import { STORE_URL_EXPECTED } from '../../../kernel/documents/store-url.ts';
import { InfrastructureError, InputError, getMessage } from '../../../kernel/errors.ts';
import type { BulkInsert, Database, Dialect, Row, Step } from '../sql/schema/database.ts';
import { renderSql, type Sql, type Value } from '../sql/schema/statement.ts';
import { getErrorCode } from '../../../kernel/errno.ts';

const DIALECT: Dialect = {
  identity: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  id: 'text COLLATE "C"',
  clustered: '',
  shared: ' FOR SHARE',
  skipTaken: ' FOR UPDATE SKIP LOCKED',
  connection: 'pg_backend_pid()',
  json: {
    text: (document, member) => `(${parseReadable(document)} ->> '${member}')`,
    document: (document, member) => `(${parseReadable(document)} -> '${member}')::text`,
    elements: (array, alias) => `LATERAL json_array_elements_text(${parseReadable(array)}) AS ${alias}(value)`,
  },
};

/** PostgreSQL cannot read JSON with half of a surrogate pair, and no other value represents such a document. */
function parseReadable(document: string): string {
  return `(CASE WHEN ${document} ~* '\\\\ud[89a-f]' THEN NULL ELSE ${document} END)::json`;
}

/** Longer than any of the store's statements takes on a working server. */
const ANSWER_MILLISECONDS = 60_000;
const CONNECT_MILLISECONDS = 10_000;
/** A Muster's share of what a server allows, which is a hundred by default. */
const CONNECTIONS = 8;
/** The client's own error, which has no code. */
const PASSWORD_MISSING = /client password must be a (?:non-empty )?string/u;
/** PostgreSQL's codes for problems that only the caller can correct: wrong name or password, no such database, no right to use it. */
const CALLER_CODES = new Set(['28000', '28P01', '3D000', '42501']);

/** A database on a server, shared by several Musters. */
export class PostgresDatabase implements Database {
  readonly dialect = DIALECT;
  readonly #pool: Pool;
  readonly #name: string;

  private constructor(pool: Pool, name: string) {
    this.#pool = pool;
    this.#name = name;
  }

  /**
   * @param url `postgresql://user:password@host/database`
   * @param name of the database for people, without the password.
   * @throws InputError `store.unusable` when the server refuses it; InfrastructureError `store.unreachable` when there is no server.
   */
  static async open(url: string, name: string): Promise<PostgresDatabase> {
    const config: ClientConfig = {
      connectionString: url,
      application_name: 'muster',
      connectionTimeoutMillis: CONNECT_MILLISECONDS,
      statement_timeout: ANSWER_MILLISECONDS,
      query_timeout: ANSWER_MILLISECONDS,
      keepAlive: true,
      types: { getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format)) },
    };
    await tryConnection(config, name);
    const pool = new Pool({ ...config, max: CONNECTIONS });
    // An idle connection failed: it is replaced, and the next statement fails when that is impossible.
    pool.on('error', () => undefined);
    // A checked-out connection failed: its next statement reports it. Between two statements, only this listener learns of its end.
    pool.on('connect', (client) => client.on('error', () => undefined));
    return new PostgresDatabase(pool, name);
  }

  async query(statement: Sql): Promise<readonly Row[]> {
    return this.#translateErrors(() => readRows(this.#pool, statement));
  }

  async transact(steps: readonly Step[]): Promise<readonly (readonly Row[])[] | undefined> {
    return this.#translateErrors(() => this.#withClient((client) => runTransaction(client, steps)));
  }

  /** Runs while no other transaction runs under the same lock, on any connection. */
  async withLock<Result>(lock: number, run: () => Promise<Result>): Promise<Result> {
    return this.#withClient(async (client) => {
      await this.#translateErrors(() => client.query('SELECT pg_advisory_lock($1)', [lock]));
      try {
        return await run();
      } finally {
        await this.#translateErrors(() => client.query('SELECT pg_advisory_unlock($1)', [lock]));
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#pool.ended) await this.#pool.end();
  }

  /** A connection on which something failed is not used again: what state it is in is not known. */
  async #withClient<Result>(use: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect();
    let isSound = false;
    try {
      const result = await use(client);
      isSound = true;
      return result;
    } finally {
      client.release(!isSound);
    }
  }

  async #translateErrors<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      return await run();
    } catch (error) {
      throw new InfrastructureError('store.failed', `the store in ${this.#name} failed: ${getMessage(error)}`, { cause: error });
    }
  }
}

/** Connects without the pool, which keeps a connection open that fails while the server waits for its password. */
async function tryConnection(config: ClientConfig, name: string): Promise<void> {
  const client = new Client(config);
  try {
    await client.connect();
  } catch (error) {
    throw toRefusal(name, error);
  } finally {
    await client.end();
  }
}

async function runTransaction(client: PoolClient, steps: readonly Step[]): Promise<readonly (readonly Row[])[] | undefined> {
  const rows: (readonly Row[])[] = [];
  await client.query('BEGIN');
  for (const step of steps) {
    const found = step.kind === 'bulk' ? await insertBulk(client, step.insert) : await readRows(client, step.sql);
    if (step.kind === 'guard' && found.length === 0) {
      await client.query('ROLLBACK');
      return undefined;
    }
    rows.push(found);
  }
  await client.query('COMMIT');
  return rows;
}

async function readRows(client: Pick<PoolClient, 'query'>, statement: Sql): Promise<readonly Row[]> {
  const { rows } = await client.query<Row>(
    renderSql(statement, (position) => `$${position}`),
    [...statement.values],
  );
  return rows;
}

/** The statement has one array for each column, so that it does not depend on the number of rows. COPY, which is faster, cannot handle conflicts. */
async function insertBulk(client: PoolClient, { table, columns, rows }: BulkInsert): Promise<readonly Row[]> {
  const names = columns.map(({ name }) => name).join(', ');
  const arrays = columns.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ');
  const values = columns.map((_, i): Value[] => rows.map((row) => row[i] ?? null));
  await client.query(`INSERT INTO ${table} (${names}) SELECT * FROM unnest(${arrays}) ON CONFLICT DO NOTHING`, values);
  return [];
}

function toRefusal(name: string, error: unknown): InputError | InfrastructureError {
  const code = getErrorCode(error);
  const options = { cause: error };
  if (PASSWORD_MISSING.test(getMessage(error)))
    return new InputError('store.unusable', `${name} asks for a password; expected store.url with one: ${STORE_URL_EXPECTED}`, options);
  if (typeof code === 'string' && CALLER_CODES.has(code))
    return new InputError(
      'store.unusable',
      `${name} refuses the connection: ${getMessage(error)}; correct the store's URL, or the permissions there`,
      options,
    );
  return new InfrastructureError('store.unreachable', `${name} cannot be reached: ${getMessage(error)}; is the server running?`, options);
}
