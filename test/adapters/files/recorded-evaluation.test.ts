import { mkdir, mkdtempDisposable, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openRecordedEvaluation, type RecordedEvaluation, type RecordedLine } from '../../../src/adapters/files/recorded-evaluation.ts';
import { InputError } from '../../../src/kernel/errors.ts';

interface Kept extends AsyncDisposable {
  readonly directory: string;
  readonly episodesFile: string;
  open(): Promise<RecordedEvaluation | undefined>;
}

async function kept({ summary = '{"schema":"muster.summary/1"}', episodes = '' } = {}): Promise<Kept> {
  const place = await mkdtempDisposable(path.join(tmpdir(), 'muster-results-'));
  const episodesFile = path.join(place.path, 'episodes.ndjson');
  await writeFile(path.join(place.path, 'summary.json'), summary);
  await writeFile(episodesFile, episodes);
  const open = async (): Promise<RecordedEvaluation | undefined> => openRecordedEvaluation(place.path);
  return { directory: place.path, episodesFile, open, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
}

async function episodesOf(results: Kept): Promise<RecordedLine[]> {
  const recorded = await results.open();
  if (recorded === undefined) throw new Error('expected recorded results');
  return Array.fromAsync(recorded.episodes());
}

/** Of this process. The descriptor that lists them is gone by the time that it is looked at. */
async function openFiles(): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  return Promise.all(descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')));
}

const refusal = (code: string, message: RegExp): unknown =>
  expect.toSatisfy(
    (error: unknown) => error instanceof InputError && error.code === code && message.test(error.message),
    `an InputError ${code} that says ${message}`,
  );

describe('what --out kept', () => {
  it('is read from its files, episodes line by line', async () => {
    await using results = await kept({ episodes: '{"index":0}\n{"index":1}\n' });
    expect(await results.open()).toMatchObject({
      summaryFile: path.join(results.directory, 'summary.json'),
      summary: { schema: 'muster.summary/1' },
      episodesFile: results.episodesFile,
    });
    expect(await episodesOf(results)).toEqual([
      { line: 1, value: { index: 0 } },
      { line: 2, value: { index: 1 } },
    ]);
  });

  it('can be read in part, with nothing open afterwards', async () => {
    await using results = await kept({ episodes: '{"index":0}\n'.repeat(100_000) });
    for await (const { line } of (await results.open())?.episodes() ?? []) {
      expect(await openFiles()).toContain(results.episodesFile);
      if (line === 3) break;
    }
    expect(await openFiles()).not.toContain(results.episodesFile);
  });

  it('is undefined without a summary: a checkpoint, an unfinished run, a missing path', async () => {
    await using results = await kept();
    await rm(path.join(results.directory, 'summary.json'));
    expect(await results.open()).toBeUndefined();
    expect(await openRecordedEvaluation(path.join(results.directory, 'nowhere'))).toBeUndefined();
  });

  it('is refused when its summary is no JSON', async () => {
    await using results = await kept({ summary: '{"schema":' });
    await expect(results.open()).rejects.toEqual(refusal('results.invalid', /summary\.json: expected the JSON document/));
  });

  it.each<[string, { summary?: string; episodes?: string }, RegExp]>([
    ['a summary of nested lists', { summary: '['.repeat(5e6) }, /summary\.json: .*more than 128 nested lists/],
    ['a line without an end', { episodes: `{"index":0}\n"${'x'.repeat(5e6)}` }, /a line of more than 1048576 bytes/],
    ['a line of nested lists', { episodes: `{"index":0}\n${'['.repeat(5e5)}\n` }, /episodes\.ndjson:2: .*more than 16 nested lists/],
  ])('is refused with %s', async (_, files, message) => {
    await using results = await kept(files);
    await expect(episodesOf(results)).rejects.toEqual(refusal('results.invalid', message));
  });

  it('is read to its end when its last line has no line break', async () => {
    await using results = await kept({ episodes: '{"index":0}\r\n{"index":1}' });
    expect((await episodesOf(results)).map(({ line, value }) => [line, value])).toEqual([
      [1, { index: 0 }],
      [2, { index: 1 }],
    ]);
  });

  it('is refused without its episodes, with the remedy', async () => {
    await using results = await kept();
    const refused = refusal(
      'results.unreadable',
      /episodes\.ndjson cannot be read: .*; give the whole directory, or record the evaluation again/,
    );
    await rm(results.episodesFile);
    await expect(episodesOf(results)).rejects.toEqual(refused);
    await mkdir(results.episodesFile);
    await expect(episodesOf(results)).rejects.toEqual(refused);
  });

  it('is refused by file and line when an episode is no JSON', async () => {
    await using results = await kept({ episodes: '{"index":0}\n{"ind' });
    await expect(episodesOf(results)).rejects.toEqual(refusal('results.invalid', /episodes\.ndjson:2: expected JSON as --out writes it/));
  });
});
