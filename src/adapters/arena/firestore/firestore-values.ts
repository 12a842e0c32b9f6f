import { z } from 'zod';
import type { Row } from '../../store/sql/schema/database.ts';

/** The types that Muster stores in a field. */
export type FieldValue = string | number | boolean | null | Buffer;
export type Fields = Readonly<Record<string, FieldValue>>;

/** A value in Firestore's JSON. */
export type WrittenValue = Readonly<Record<string, string | number | boolean | null>>;

/** Firestore has two types of numbers, integers and doubles, and compares them as numbers. */
export function formatValue(value: FieldValue): WrittenValue {
  if (value === null) return { nullValue: null };
  if (Buffer.isBuffer(value)) return { bytesValue: value.toString('base64') };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { booleanValue: value };
  return Number.isSafeInteger(value) ? { integerValue: String(value) } : { doubleValue: value };
}

export function formatFields(fields: Fields): Readonly<Record<string, WrittenValue>> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, formatValue(value)]));
}

const valueSchema = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ integerValue: z.coerce.number() }).transform(({ integerValue }) => integerValue),
  z.object({ doubleValue: z.number() }).transform(({ doubleValue }) => doubleValue),
  z.object({ booleanValue: z.boolean() }).transform(({ booleanValue }) => booleanValue),
  z.object({ bytesValue: z.base64() }).transform(({ bytesValue }) => Buffer.from(bytesValue, 'base64')),
  z.object({ nullValue: z.unknown() }).transform(() => null),
]);

/** A document in Firestore's JSON. */
export const documentSchema = z
  .object({ name: z.string(), fields: z.record(z.string(), z.unknown()).default({}), updateTime: z.string() })
  .transform(({ name, fields, updateTime }): StoredDocument => ({
    name,
    row: Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, valueSchema.safeParse(value).data])),
    updateTime,
  }));

export interface StoredDocument {
  readonly name: string;
  /** The values of its fields; undefined for a type that Muster does not write. */
  readonly row: Row;
  /** Changes with each write. */
  readonly updateTime: string;
}
