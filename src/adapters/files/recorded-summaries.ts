import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InputError } from '../../kernel/errors.ts';
import { readSummaryFile } from './summary-file.ts';

/** A summary as its file has it. It is only checked that it is JSON. */
export interface RecordedSummary {
  readonly file: string;
  readonly summary: unknown;
}

/**
 * Reads the summaries at a path: a summary's file; a directory of `--out`; or a directory of several checkpoints, which has one of `--out` for each,
 * in numerical order.
 *
 * @throws InputError when there is none, or one cannot be read.
 */
export async function readSummaries(path: string): Promise<readonly RecordedSummary[]> {
  const files = await listSummaryFiles(path);
  if (files.length > 0) return Promise.all(files.map(async (file) => ({ file, summary: await readSummaryFile(file) })));
  const expected =
    'expected a directory that "muster eval --out" or "muster compare --out" wrote, or a summary that they printed with --json';
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  if (!isThere) throw new InputError('results.missing', `${path} does not exist, or may not be read: ${expected}`);
  throw new InputError(
    'results.missing',
    `${path} has no summary: ${expected}; a killed evaluation has none; the same command as before continues it`,
  );
}

async function listSummaryFiles(path: string): Promise<readonly string[]> {
  if (await isFile(path)) return [path];
  const own = join(path, 'summary.json');
  if (await isFile(own)) return [own];
  const found = await listSeveralResults(path);
  return found.map((directory) => join(directory, 'summary.json'));
}

/** Lists the directories of `--out` of several checkpoints, in order; none when the path is no such directory. */
async function listSeveralResults(path: string): Promise<readonly string[]> {
  const names = await readdir(path).catch(() => []);
  const numbered = names.filter((name) => /^\d+-/.test(name)).toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  const found = await Promise.all(numbered.map(async (name) => ((await isFile(join(path, name, 'summary.json'))) ? [name] : [])));
  return found.flat().map((name) => join(path, name));
}

/** @throws InputError `results.several` when a path that should have one result has several below it. */
export async function assertOneResult(path: string): Promise<void> {
  const found = await listSeveralResults(path);
  if (found.length === 0) return;
  const shown = found.length > MOST_SHOWN ? [...found.slice(0, MOST_SHOWN), '…'] : found;
  throw new InputError('results.several', `${path} has the results of several checkpoints; name one of them: ${shown.join(', ')}`);
}

const MOST_SHOWN = 8;

async function isFile(path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => undefined);
  return facts?.isFile() === true;
}
