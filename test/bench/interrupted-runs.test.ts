import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MusterCommand } from '../end-to-end/muster-command.ts';
import { REPOSITORY } from '../end-to-end/stage.ts';
import { RecordedMeasurements } from '../../bench/recorded-measurements.ts';
import { secondsLeft, showTimeLeft } from '../../bench/time-left.ts';

const keptLineSchema = z.looseObject({ name: z.string(), value: z.unknown() });
const resultsSchema = z.looseObject({ measurements: z.record(z.string(), z.array(z.looseObject({ name: z.string() }))) });

/** `npm run bench` after its set-up, with everything that it writes below one directory. */
class Bench implements AsyncDisposable {
  readonly directory: string;
  readonly json: string;

  private constructor(directory: string) {
    this.directory = directory;
    this.json = path.join(directory, 'figures.json');
  }

  static async open(): Promise<Bench> {
    return new Bench(await mkdtemp(path.join(tmpdir(), 'muster-bench-test-')));
  }

  start(...flags: readonly string[]): MusterCommand {
    const [node, run] = ['node_modules/.bin/node', 'bench/run.ts'].map((file) => path.join(REPOSITORY, file));
    const args = ['--only', 'aggregation', '--quick', '--json', this.json, '--keep', this.path('kept'), ...flags];
    return new MusterCommand([node ?? '', run ?? '', ...args], { environment: { TMPDIR: this.directory } });
  }

  path(name: string): string {
    return path.join(this.directory, name);
  }

  /** Of the unfinished run, as they were kept. */
  async kept(): Promise<readonly z.infer<typeof keptLineSchema>[]> {
    const files = (await readdir(this.path('kept'))).filter((name) => name.endsWith('.ndjson'));
    const texts = await Promise.all(files.map(async (name) => readFile(path.join(this.path('kept'), name), 'utf8')));
    return texts.flatMap((text) => text.split('\n').slice(0, -1)).map((line) => keptLineSchema.parse(JSON.parse(line)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

describe('a benchmark', () => {
  it('that is interrupted keeps what it has measured, and the next run continues from it', { timeout: 180_000 }, async () => {
    await using bench = await Bench.open();
    await using interrupted = bench.start();
    await interrupted.until('something is measured', () => interrupted.stdout.includes('values a second: '));
    interrupted.signalGroup('SIGINT');
    const { exitCode, stdout } = await interrupted.ended;
    expect(exitCode).toBe(130);
    expect(stdout).toMatch(/aggregation: 3 measurements, time left unknown/);
    expect(stdout).toMatch(/aggregation: mean and variance, values a second: [\d,.–() ]+; \d+ s, about \d+ (s|min) left/);
    expect(stdout).toMatch(
      /interrupted; the same command goes on from what is kept .*:\n {2}\S+aggregation-quick-[0-9a-f]{12}\.ndjson: \d measurements?\n$/,
    );
    expect((await readdir(bench.directory)).toSorted()).toEqual(['kept']);
    const [first] = await bench.kept();
    expect(first?.name).toBe('mean and variance, values a second');

    await using whole = bench.start();
    const done = await whole.ended;
    expect(done.exitCode).toBe(0);
    expect(done.stdout).toMatch(/aggregation: mean and variance, values a second: .*; kept from \d{4}-/);
    const results = resultsSchema.parse(JSON.parse(await readFile(bench.json, 'utf8')));
    expect(results.measurements['aggregation']?.map(({ name }) => name)).toEqual([
      'mean and variance, values a second',
      'certified interval, episodes a second',
      'memory of a fold, bytes',
    ]);
    expect(await bench.kept()).toEqual([]);
  });

  it('that was killed while it wrote keeps its whole rows, and continues after them', async () => {
    await using bench = await Bench.open();
    const kept = await RecordedMeasurements.open(bench.directory, 'one', 'full');
    const first = { name: '1 sandbox', seconds: 2, date: '2026-11-23T10:00:00.000Z', value: { rate: 3 } };
    await kept.add(first);
    const line = await readFile(kept.path, 'utf8');
    await writeFile(kept.path, line + line.slice(0, 20));
    const again = await RecordedMeasurements.open(bench.directory, 'one', 'full');
    expect(again.all).toEqual([first]);
    await again.add({ ...first, name: '16 sandboxes' });
    expect((await RecordedMeasurements.open(bench.directory, 'one', 'full')).all.map(({ name }) => name)).toEqual([
      '1 sandbox',
      '16 sandboxes',
    ]);
    expect((await RecordedMeasurements.open(bench.directory, 'one', 'quick')).all).toEqual([]);
    await writeFile(kept.path, 'figures\n');
    await expect(RecordedMeasurements.open(bench.directory, 'one', 'full')).rejects.toThrow(`${kept.path}:1: not a measurement`);
  });

  it('estimates the time that is left from the last run, or else from the finished part', () => {
    expect(secondsLeft({ made: [], left: [10, 20] })).toBe(30);
    expect(secondsLeft({ made: [4, 6], left: [undefined, 20] })).toBe(25);
    expect(secondsLeft({ made: [], left: [undefined, 20] })).toBeUndefined();
    expect(secondsLeft({ made: [4], left: [] })).toBe(0);
    expect(showTimeLeft({ made: [200], left: [undefined] })).toBe('about 4 min left');
  });
});
