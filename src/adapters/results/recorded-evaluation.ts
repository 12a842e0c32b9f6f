import { open, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { InfrastructureError, InputError, messageOf } from '../../kernel/errors.ts';
import { readSummaryFile } from './summary-file.ts';

/** What `--out` kept of an evaluation, as it stands in its files: nothing of it has been checked but that it is JSON. */
export interface RecordedEvaluation {
  readonly summaryFile: string;
  readonly summary: unknown;
  readonly episodesFile: string;
  /** Line by line. @throws InputError when there is no such file, or for a line that is no JSON; InfrastructureError when reading fails. */
  episodes(): AsyncIterable<RecordedLine>;
}

export interface RecordedLine {
  /** From 1 on. */
  readonly line: number;
  readonly value: unknown;
}

/** @returns undefined when the path is no directory with a summary in it. @throws InputError when the summary cannot be had, or is no JSON. */
export async function openRecordedEvaluation(path: string): Promise<RecordedEvaluation | undefined> {
  const summaryFile = join(path, 'summary.json');
  const episodesFile = join(path, 'episodes.ndjson');
  const found = await stat(summaryFile).catch(() => undefined);
  if (!found?.isFile()) return undefined;
  return { summaryFile, summary: await readSummaryFile(summaryFile), episodesFile, episodes: () => lines(episodesFile) };
}

async function* lines(path: string): AsyncIterable<RecordedLine> {
  await using file = await opened(path);
  const input = file.createReadStream({ encoding: 'utf8' });
  let line = 0;
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      line += 1;
      yield { line, value: parse(text, `${path}:${line}`) };
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InfrastructureError('results.read', `${path} could not be read: ${messageOf(error)}`, { cause: error });
  } finally {
    input.destroy();
  }
}

async function opened(path: string): Promise<FileHandle> {
  const expected = 'expected the episodes that "muster eval --out" kept beside the summary';
  const remedy = 'give the whole directory, or record the evaluation again ("muster plan" takes summary.json by itself, too)';
  try {
    if (!(await stat(path)).isFile()) throw new Error('it is no file');
    return await open(path);
  } catch (error) {
    throw new InputError('results.unreadable', `${path} cannot be read: ${messageOf(error)}; ${expected}; ${remedy}`, { cause: error });
  }
}

function parse(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(
      'results.invalid',
      `${where}: expected JSON as --out writes it: ${messageOf(error)}; record the evaluation again`,
      {
        cause: error,
      },
    );
  }
}
