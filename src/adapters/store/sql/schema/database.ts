import type { Sql, Value } from './statement.ts';

export type Row = Readonly<Record<string, unknown>>;

/** The syntax in which the databases differ. */
export interface Dialect {
  /** A number that a table gives its rows, as the primary key. */
  readonly identity: string;
  /** An id: compared byte by byte. */
  readonly id: string;
  /** Follows the definition of a table whose rows are stored in the order of their primary key. */
  readonly clustered: string;
  /** Follows a SELECT: these rows cannot change before the transaction ends. */
  readonly shared: string;
  /** Follows a SELECT in a statement that takes rows: it skips rows that another statement is taking. */
  readonly skipTaken: string;
  /** A number that no two transactions share at the same time: no other transaction waits for a row under it. */
  readonly connection: string;
  /** Says how migrations read JSON that an earlier version has stored as text. */
  readonly json: JsonReading;
}

/** SQL that reads JSON. A document is an expression whose value is text. What is not there is NULL. */
export interface JsonReading {
  /** Reads a member that is text. */
  text(document: string, member: string): string;
  /** Reads a member that is an object or an array, as a document. */
  document(document: string, member: string): string;
  /** Gives a FROM clause the elements of an array, as documents in the column `value`. There are none when the array is NULL. */
  elements(array: string, alias: string): string;
}

export interface BulkColumn {
  readonly name: string;
  readonly type: 'bigint' | 'integer' | 'double precision' | 'text';
}

/** Inserts many rows into one table. Skips those whose key exists. */
export interface BulkInsert {
  readonly table: string;
  readonly columns: readonly BulkColumn[];
  readonly rows: readonly (readonly Value[])[];
}

export type Step =
  | { readonly kind: 'statement'; readonly sql: Sql }
  /** A statement without whose row nothing of the transaction is done. */
  | { readonly kind: 'guard'; readonly sql: Sql }
  | { readonly kind: 'bulk'; readonly insert: BulkInsert };

/**
 * One of the databases on which the store's SQL runs. Numbers are returned as numbers, text as text.
 *
 * @throws InfrastructureError from every method, when the database fails or is too slow.
 */
export interface Database extends AsyncDisposable {
  readonly dialect: Dialect;

  query(statement: Sql): Promise<readonly Row[]>;

  /** Carries out all of the steps, durably, or none. @returns the rows of each step; undefined when a guard found none. */
  transact(steps: readonly Step[]): Promise<readonly (readonly Row[])[] | undefined>;
}

export function toStep(sql: Sql): Step {
  return { kind: 'statement', sql };
}

export function guard(sql: Sql): Step {
  return { kind: 'guard', sql };
}
