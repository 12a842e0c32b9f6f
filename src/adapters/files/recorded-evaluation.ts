import { open, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { getReason } from '../../kernel/errno.ts';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import { parseJson, type JsonBounds } from '../../kernel/json-bounds.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import { FrameReader } from '../../runner/frame-reader.ts';
import { readSummaryFile } from './summary-file.ts';

/** The files that `--out` kept of an evaluation. It is only checked that they are JSON. */
export interface RecordedEvaluation {
  readonly summaryFile: string;
  readonly summary: unknown;
  readonly episodesFile: string;
  /** Yields line by line. @throws InputError when there is no such file, or for a line that is not JSON; InfrastructureError when reading fails. */
  episodes(): AsyncIterable<RecordedLine>;
}

export interface RecordedLine {
  /** The number of the line, from 1. */
  readonly line: number;
  readonly value: unknown;
}

/** The files of an earlier run in its `--out`, complete or not. It is only checked that they are JSON. */
export interface EarlierRun {
  /** The content of `config.json`. */
  readonly configuration: unknown;
  /** The content of `summary.json`; undefined when there is none. */
  readonly summary: unknown;
}

/** @returns undefined when the path is no directory with a configuration in it. @throws InputError when a file cannot be read, or is no JSON. */
export async function openEarlierRun(path: string): Promise<EarlierRun | undefined> {
  const configurationFile = join(path, 'config.json');
  const found = await stat(configurationFile).catch(() => undefined);
  if (!found?.isFile()) return undefined;
  const summary = (await openRecordedEvaluation(path))?.summary;
  return { configuration: await readSummaryFile(configurationFile), summary };
}

/** @returns undefined when the path is no directory with a summary. @throws InputError when the summary cannot be read, or is no JSON. */
export async function openRecordedEvaluation(path: string): Promise<RecordedEvaluation | undefined> {
  const summaryFile = join(path, 'summary.json');
  const episodesFile = join(path, 'episodes.ndjson');
  const found = await stat(summaryFile).catch(() => undefined);
  if (!found?.isFile()) return undefined;
  return { summaryFile, summary: await readSummaryFile(summaryFile), episodesFile, episodes: () => readEpisodeLines(episodesFile) };
}

/** An episode has some hundred kilobytes at most. */
const LINE_BOUNDS: JsonBounds = { bytes: 2 ** 20, depth: 16, values: 100_000 };

const LINE_FEED = 0x0a;

/**
 * Reads a line for each episode. @throws InputError when there is no such file, or for a line that is not JSON; InfrastructureError when reading
 * fails.
 */
export async function* readEpisodeLines(path: string): AsyncIterable<RecordedLine> {
  await using file = await openEpisodes(path);
  const input = file.createReadStream();
  let line = 0;
  try {
    for await (const text of readLines(input, path)) {
      line += 1;
      yield { line, value: parse(text, `${path}:${line}`) };
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InfrastructureError('results.read', `${path} could not be read: ${getReason(error, path)}`, { cause: error });
  } finally {
    input.destroy();
  }
}

/** Includes an unfinished last line. Only one line is in memory. */
async function* readLines(input: AsyncIterable<Buffer>, path: string): AsyncGenerator<string> {
  const lines: string[] = [];
  const { bytes } = LINE_BOUNDS;
  const tooLong = new InputError(
    'results.invalid',
    `${path} has a line of more than ${formatExactBytes(bytes)}; expected an episode, as --out writes it`,
  );
  const problems: Error[] = [];
  const reader = new FrameReader(
    bytes,
    (line) => lines.push(line),
    () => problems.push(tooLong),
  );
  let isWhole = true;
  for await (const chunk of input) {
    reader.push(chunk);
    yield* lines.splice(0);
    for (const problem of problems) throw problem;
    isWhole = chunk.at(-1) === LINE_FEED;
  }
  if (!isWhole) reader.push(Buffer.of(LINE_FEED));
  yield* lines;
}

async function openEpisodes(path: string): Promise<FileHandle> {
  const expected = 'expected the episodes that "muster eval --out" kept beside the summary';
  const remedy = 'give the whole directory, or record the evaluation again ("muster plan" takes summary.json by itself, too)';
  try {
    if (!(await stat(path)).isFile()) throw new Error('it is not a file');
    return await open(path);
  } catch (error) {
    throw new InputError('results.unreadable', `${path} cannot be read: ${getReason(error, path)}; ${expected}; ${remedy}`, {
      cause: error,
    });
  }
}

function parse(text: string, where: string): unknown {
  try {
    return parseJson(Buffer.from(text), LINE_BOUNDS);
  } catch (error) {
    throw new InputError(
      'results.invalid',
      `${where}: expected JSON as --out writes it: ${getMessage(error)}; record the evaluation again`,
      {
        cause: error,
      },
    );
  }
}
