import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import { tryParseJson } from '../../../kernel/json-bounds.ts';
import { KnownSettings } from '../../../kernel/documents/known-settings.ts';
import { isMapping } from '../../../kernel/documents/path.ts';
import { formatProblemLine, listProblems } from '../../../kernel/documents/problems.ts';
import type { WrittenTask } from '../written-task.ts';

/** A row of a dataset, or the reason why there is no task in it. */
export type ImportedRow = { readonly task: WrittenTask } | { readonly name: string; readonly refusal: string };

/** Problems of one row that a message lists. */
const MOST_PROBLEMS = 5;

/** Rows have lists of test ids as lists, or as JSON in a text. */
export const testIdList = z.preprocess(
  (given) => (typeof given === 'string' ? tryParseJson(given) : given),
  z.array(z.string().min(1).max(2048), 'expected a list of test ids, or one as JSON').max(100_000),
);

/** @param where names the row for messages. @throws InputError `task.row` that names the field. */
export function parseRow<Schema extends z.ZodType>(where: string, schema: Schema, row: unknown): z.infer<Schema> {
  const { data, error } = schema.safeParse(row);
  if (error === undefined) return data;
  const problems = listProblems(error, readJsonTexts(row), new KnownSettings(schema)).slice(0, MOST_PROBLEMS);
  throw new InputError('task.row', problems.map((problem) => formatProblemLine(where, problem)).join('\n'));
}

/** Returns a row with the values that its texts hold as JSON: a problem may be within one of them. */
function readJsonTexts(row: unknown): unknown {
  return isMapping(row) ? Object.fromEntries(Object.entries(row).map(([name, given]) => [name, readJsonText(given)])) : row;
}

function readJsonText(given: unknown): unknown {
  return typeof given === 'string' && /^[[{]/.test(given) ? (tryParseJson(given) ?? given) : given;
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
