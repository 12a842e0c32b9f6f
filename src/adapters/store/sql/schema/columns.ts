import { InfrastructureError } from '../../../../kernel/errors.ts';
import type { Row } from './database.ts';

/** The functions of this file read columns. @throws InfrastructureError `store.unreadable` when a column holds something else. */

export function readText(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw createUnreadableError(column, 'text', value);
}

export function readNumber(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === 'number') return value;
  throw createUnreadableError(column, 'a number', value);
}

export function readDate(row: Row, column: string): Date {
  return new Date(readNumber(row, column));
}

export function readDocument(row: Row, column: string): unknown {
  const text = readText(row, column);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InfrastructureError('store.unreadable', `the column ${column} holds no JSON: ${text.slice(0, 100)}`, { cause: error });
  }
}

/** Returns undefined for NULL, and otherwise the result of `read` for the column. */
export function readOptional<Value>(row: Row, column: string, read: (row: Row, column: string) => Value): Value | undefined {
  return row[column] === null || row[column] === undefined ? undefined : read(row, column);
}

function createUnreadableError(column: string, expected: string, value: unknown): InfrastructureError {
  return new InfrastructureError(
    'store.unreadable',
    `the column ${column} should hold ${expected}, and holds a ${value === null ? 'NULL' : typeof value}; was the database changed by another program?`,
  );
}
