import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { getReason } from '../../kernel/errno.ts';
import { InputError } from '../../kernel/errors.ts';
import { JsonProblem, parseJson, type JsonBounds } from '../../kernel/json-bounds.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';

/** A row of a dataset, not checked yet. */
export interface DatasetRow {
  /** Names it for messages. */
  readonly where: string;
  readonly row: unknown;
  /** Its instance_id; the commit where it has none, as rows of R2E-Gym; or nothing. */
  readonly id: string;
}

const FILE_BOUNDS: JsonBounds = { bytes: 512 * 1024 * 1024, depth: 16, values: 20_000_000 };
const ROW_BOUNDS: JsonBounds = { bytes: 64 * 1024 * 1024, depth: 16, values: 1_000_000 };
const EXPECTED = 'expected a JSON list of rows, or JSON Lines; Parquet has to be converted first';

/** Reads the rows of a file: a JSON list, or an object on each line. @throws InputError `task.rows` */
export async function* readRows(path: string): AsyncGenerator<DatasetRow> {
  try {
    if (await isList(path)) yield* readListedRows(path);
    else yield* readLinedRows(path);
  } catch (error) {
    if (error instanceof InputError) throw error;
    if (error instanceof JsonProblem) throw new InputError('task.rows', `${path}: ${error.message}; ${EXPECTED}`, { cause: error });
    throw new InputError('task.rows', `${path}: it cannot be read: ${getReason(error, path)}; ${EXPECTED}`, { cause: error });
  }
}

async function isList(path: string): Promise<boolean> {
  await using file = await open(path);
  const { size } = await file.stat();
  if (size > FILE_BOUNDS.bytes)
    throw new InputError('task.rows', `${path}: it has ${formatExactBytes(size)}; at most ${formatExactBytes(FILE_BOUNDS.bytes)} are read`);
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(64), position: 0 });
  return buffer.toString('utf8', 0, bytesRead).trimStart().startsWith('[');
}

async function* readListedRows(path: string): AsyncGenerator<DatasetRow> {
  await using file = await open(path);
  const rows = parseJson(await file.readFile(), FILE_BOUNDS);
  if (!Array.isArray(rows)) throw new InputError('task.rows', `${path}: it is no list; ${EXPECTED}`);
  for (const [at, row] of rows.entries()) yield { where: `${path}[${at}]`, row, id: getId(row) };
}

async function* readLinedRows(path: string): AsyncGenerator<DatasetRow> {
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    line += 1;
    if (text.trim() === '') continue;
    const row = parseJson(Buffer.from(text), ROW_BOUNDS);
    yield { where: `${path}:${line}`, row, id: getId(row) };
  }
}

function getId(row: unknown): string {
  if (typeof row !== 'object' || row === null) return '';
  const ids = ['instance_id', 'commit_hash'].map((name): unknown => Reflect.get(row, name));
  return ids.find((id) => typeof id === 'string') ?? '';
}
