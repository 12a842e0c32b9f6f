import { appendFile, mkdir, readFile, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const keptSchema = z.strictObject({
  name: z.string(),
  /** That it took. */
  seconds: z.number(),
  /** When it ended. */
  date: z.iso.datetime(),
  value: z.json(),
});

/** A measurement that was made, and what came of it. */
export type StoredMeasurement = Readonly<z.infer<typeof keptSchema>>;

/**
 * What an unfinished run of one benchmark has measured, a line each: a run that is interrupted leaves the file, and the next one with the
 * same settings goes on from it.
 */
export class RecordedMeasurements {
  readonly path: string;
  readonly #kept: Map<string, StoredMeasurement>;

  private constructor(path: string, kept: readonly StoredMeasurement[]) {
    this.path = path;
    this.#kept = new Map(kept.map((each) => [each.name, each]));
  }

  /**
   * @param settings tells code, machine and sizes that figures may be put beside one another.
   * @throws Error naming file and line when one was not written by this.
   */
  static async open(directory: string, benchmark: string, settings: string): Promise<RecordedMeasurements> {
    const path = pathOf(directory, benchmark, settings);
    await mkdir(directory, { recursive: true });
    return new RecordedMeasurements(path, await wholeLines(path));
  }

  /** Whatever it holds. */
  static async forget(directory: string, benchmark: string, settings: string): Promise<void> {
    await rm(pathOf(directory, benchmark, settings), { force: true });
  }

  get all(): readonly StoredMeasurement[] {
    return [...this.#kept.values()];
  }

  async add(kept: StoredMeasurement): Promise<void> {
    await appendFile(this.path, `${JSON.stringify(kept)}\n`);
    this.#kept.set(kept.name, kept);
  }

  /** The benchmark is finished: the next run measures everything anew. */
  async discard(): Promise<void> {
    await rm(this.path, { force: true });
  }
}

function pathOf(directory: string, benchmark: string, settings: string): string {
  return join(directory, `${benchmark}-${settings}.ndjson`);
}

/** A line without its end is one that was being written when the run was killed: it goes. */
async function wholeLines(path: string): Promise<readonly StoredMeasurement[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole.length < text.length) await truncate(path, Buffer.byteLength(whole));
  return whole
    .split('\n')
    .slice(0, -1)
    .map((line, i) => {
      try {
        return keptSchema.parse(JSON.parse(line));
      } catch (error) {
        throw new Error(`${path}:${i + 1}: not a measurement; remove the file to measure anew`, { cause: error });
      }
    });
}
