import type { BulkInsert, Row } from '../sql/schema/database.ts';
import type { Value } from '../sql/schema/statement.ts';

/** A statement with `?` for each of its values. */
export interface Rendered {
  readonly text: string;
  readonly values: readonly Value[];
}

export type RenderedStep =
  ({ readonly kind: 'statement' | 'guard' } & Rendered) | ({ readonly kind: 'bulk'; readonly text: string } & Pick<BulkInsert, 'rows'>);

export type Request =
  | ({ readonly kind: 'query'; readonly id: number } & Rendered)
  | { readonly kind: 'transact'; readonly id: number; readonly steps: readonly RenderedStep[] };

export type Transaction = Extract<Request, { kind: 'transact' }>;
export type Query = Extract<Request, { kind: 'query' }>;

/** Messages to the thread. */
export type Order = Request | { readonly kind: 'close' };

export type Reply =
  /** `rows` has one list for each step of a transaction, and a single one for a query. */
  | { readonly kind: 'done'; readonly id: number; readonly rows: readonly (readonly Row[])[] }
  | { readonly kind: 'refused'; readonly id: number }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string; /** SQLite's. */ readonly code: number | undefined };

/** Messages of the thread: first the result of opening, then replies. */
export type Message =
  | { readonly kind: 'open' }
  | { readonly kind: 'not-open'; readonly message: string; /** SQLite's. */ readonly code: number | undefined }
  | { readonly kind: 'replies'; readonly replies: readonly Reply[] };
