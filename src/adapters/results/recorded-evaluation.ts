import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { InfrastructureError, InputError, messageOf } from '../../kernel/errors.ts';

/** What `--out` kept of an evaluation, as it stands in its files: nothing of it has been checked but that it is JSON. */
export interface RecordedEvaluation {
  readonly summaryFile: string;
  readonly summary: unknown;
  readonly episodesFile: string;
  /** Line by line. @throws InputError for a line that is no JSON, InfrastructureError when the file cannot be read. */
  episodes(): AsyncIterable<RecordedLine>;
}

export interface RecordedLine {
  /** From 1 on. */
  readonly line: number;
  readonly value: unknown;
}

/** @returns undefined when the path is no directory with a summary in it. @throws InputError when the summary is no JSON. */
export async function openRecordedEvaluation(path: string): Promise<RecordedEvaluation | undefined> {
  const summaryFile = join(path, 'summary.json');
  const episodesFile = join(path, 'episodes.ndjson');
  const found = await stat(summaryFile).catch(() => undefined);
  if (!found?.isFile()) return undefined;
  const summary = parse(await readFile(summaryFile, 'utf8'), summaryFile);
  return { summaryFile, summary, episodesFile, episodes: () => lines(episodesFile) };
}

async function* lines(file: string): AsyncIterable<RecordedLine> {
  const input = createReadStream(file, 'utf8');
  let line = 0;
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      line += 1;
      yield { line, value: parse(text, `${file}:${line}`) };
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InfrastructureError('results.read', `${file} could not be read: ${messageOf(error)}`, { cause: error });
  } finally {
    input.destroy();
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
