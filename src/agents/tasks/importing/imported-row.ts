import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import { tryParseJson } from '../../../kernel/json-bounds.ts';
import { formatPath } from '../../../kernel/documents/path.ts';
import type { WrittenTask } from '../written-task.ts';

/** A row of a dataset, or the reason why there is no task in it. */
export type ImportedRow = { readonly task: WrittenTask } | { readonly name: string; readonly refusal: string };

/** Rows have lists of test ids as lists, or as JSON in a text. */
export const testIdList = z.preprocess(
  (given) => (typeof given === 'string' ? tryParseJson(given) : given),
  z.array(z.string().min(1).max(2048), 'expected a list of test ids, or one as JSON').max(100_000),
);

/** @param where names the row for messages. @throws InputError `task.row` that names the field. */
export function parseRow<Schema extends z.ZodType>(where: string, schema: Schema, row: unknown): z.infer<Schema> {
  const { data, error } = schema.safeParse(row);
  if (error === undefined) return data;
  const problems = error.issues.slice(0, 5).map(({ path, message }) => {
    const field = path.map((part) => (typeof part === 'number' ? part : String(part)));
    return `${where}: ${formatPath(field)}: ${message}`;
  });
  throw new InputError('task.row', problems.join('\n'));
}

/** Returns a name that can be a directory's and a task's. */
export function toDirectoryName(id: string): string {
  return (
    id
      .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
      .replaceAll('..', '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 128) || 'task'
  );
}

/** Formats a text as a TOML basic string: what JSON escapes, TOML reads. */
export function formatTomlText(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}
