import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const secondsSchema = z.record(z.string(), z.number());

/** How long measurements took the last time that they were made, by their names, for telling how long a run still takes. */
export class KnownSeconds {
  readonly #path: string;
  readonly #seconds: Map<string, number>;

  private constructor(path: string, seconds: Map<string, number>) {
    this.#path = path;
    this.#seconds = seconds;
  }

  static async open(directory: string, quick: boolean): Promise<KnownSeconds> {
    await mkdir(directory, { recursive: true });
    const path = join(directory, `seconds-${quick ? 'quick' : 'full'}.json`);
    return new KnownSeconds(path, new Map(Object.entries(await read(path))));
  }

  get(name: string): number | undefined {
    return this.#seconds.get(name);
  }

  async set(name: string, seconds: number): Promise<void> {
    this.#seconds.set(name, seconds);
    await writeFile(this.#path, `${JSON.stringify(Object.fromEntries(this.#seconds))}\n`);
  }
}

async function read(path: string): Promise<Readonly<Record<string, number>>> {
  try {
    return secondsSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw new Error(`${path}: expected the seconds of measurements; remove the file`, { cause: error });
  }
}
