import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { getMessage } from '../../../kernel/errors.ts';
import type { Row } from '../sql/schema/database.ts';
import type { Query, RenderedStep, Reply, Request, Transaction } from './sqlite-messages.ts';

/** The store has some forty statements; lists have more, for their filters. */
const MOST_PREPARED = 200;

/**
 * The open file. It blocks, so it has a thread of its own.
 *
 * Waiting transactions are committed together, so that the disk is awaited once for all of them. Each is a savepoint, so that one that is refused or
 * fails does not affect the others.
 */
export class SqliteConnection {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  /** Holds the file for itself until it is closed. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    // Exclusive comes first: then the lock belongs to the file, and goes with the process, however it ends.
    // `full`: what was reported survives a crash of the machine, not only of the process.
    // `temp_store`: a savepoint keeps the earlier pages; in a file, they would be half of all writes.
    this.#database.exec(
      'PRAGMA locking_mode = exclusive; PRAGMA journal_mode = wal; PRAGMA synchronous = full; PRAGMA foreign_keys = on; PRAGMA temp_store = memory; BEGIN IMMEDIATE; COMMIT',
    );
  }

  /** Queries do not wait for the disk: they see what was durable before the transactions beside them, and are answered first. */
  *answer(requests: readonly Request[]): Generator<readonly Reply[]> {
    const queries = requests.filter((request) => request.kind === 'query');
    if (queries.length > 0) yield queries.map((query) => this.#query(query));
    const transactions = requests.filter((request) => request.kind === 'transact');
    if (transactions.length > 0) yield this.#transactAll(transactions);
  }

  close(): void {
    this.#database.close();
  }

  #query({ id, text, values }: Query): Reply {
    try {
      return { kind: 'done', id, rows: [this.#getStatement(text).all(...values)] };
    } catch (error) {
      return toFailure(id, error);
    }
  }

  #transactAll(transactions: readonly Transaction[]): readonly Reply[] {
    try {
      this.#getStatement('BEGIN IMMEDIATE').run();
      const replies = transactions.map((transaction) => this.#transact(transaction));
      this.#getStatement('COMMIT').run();
      return replies;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      return transactions.map(({ id }) => toFailure(id, error));
    }
  }

  /** @throws the error that ended the transaction around it, such as a full disk. */
  #transact({ id, steps }: Transaction): Reply {
    this.#getStatement('SAVEPOINT one').run();
    const rows: (readonly Row[])[] = [];
    try {
      for (const step of steps) {
        const found = this.#runStep(step);
        if (step.kind === 'guard' && found.length === 0) return this.#rollBack({ kind: 'refused', id });
        rows.push(found);
      }
    } catch (error) {
      if (!this.#database.isTransaction) throw error;
      return this.#rollBack(toFailure(id, error));
    }
    this.#getStatement('RELEASE one').run();
    return { kind: 'done', id, rows };
  }

  #rollBack(reply: Reply): Reply {
    this.#database.exec('ROLLBACK TO one; RELEASE one');
    return reply;
  }

  #runStep(step: RenderedStep): readonly Row[] {
    const statement = this.#getStatement(step.text);
    switch (step.kind) {
      case 'statement':
      case 'guard':
        return statement.all(...step.values);
      case 'bulk':
        for (const row of step.rows) statement.run(...row);
        return [];
    }
  }

  #getStatement(text: string): StatementSync {
    const known = this.#prepared.get(text);
    if (known) return known;
    if (this.#prepared.size === MOST_PREPARED) this.#prepared.clear();
    const statement = this.#database.prepare(text);
    this.#prepared.set(text, statement);
    return statement;
  }
}

function toFailure(id: number, error: unknown): Reply {
  return { kind: 'failed', id, message: getMessage(error), code: getSqliteCode(error) };
}

/** Returns SQLite's code of an error; undefined for an error that is not SQLite's. */
export function getSqliteCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined;
}
