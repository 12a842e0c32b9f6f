import { InfrastructureError } from '../../../../kernel/errors.ts';
import type { Row } from './database.ts';

/** Reading columns. @throws InfrastructureError `store.unreadable` each, when a column holds something else. */

export function textOf(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw unreadable(column, 'text', value);
}

export function numberOf(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === 'number') return value;
  throw unreadable(column, 'a number', value);
}

export function dateOf(row: Row, column: string): Date {
  return new Date(numberOf(row, column));
}

export function documentOf(row: Row, column: string): unknown {
  const text = textOf(row, column);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InfrastructureError('store.unreadable', `the column ${column} holds no JSON: ${text.slice(0, 100)}`, { cause: error });
  }
}

/** Undefined for NULL; otherwise what `read` makes of the column. */
export function optional<Value>(row: Row, column: string, read: (row: Row, column: string) => Value): Value | undefined {
  return row[column] === null || row[column] === undefined ? undefined : read(row, column);
}

function unreadable(column: string, expected: string, value: unknown): InfrastructureError {
  return new InfrastructureError(
    'store.unreadable',
    `the column ${column} should hold ${expected}, and holds a ${value === null ? 'NULL' : typeof value}; was the database changed by another program?`,
  );
}
