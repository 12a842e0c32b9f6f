import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { nameStep } from '../../agents/preparation/step-key.ts';
import { getReason } from '../../kernel/errno.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import { tryParseJson } from '../../kernel/json-bounds.ts';
import { writeWholeFile } from '../files/whole-file.ts';

/** Results of steps, each under the digest of its inputs. A killed step leaves nothing, and is carried out again. */
export class StepStore {
  readonly #directory: string;
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Returns the step's stored result for these inputs, or makes a new one. Two candidates with the same request share one.
   *
   * @param isFinal whether the result is stored. @throws what `make` throws; InfrastructureError when it cannot be written.
   */
  async remember<Schema extends z.ZodType>(
    step: string,
    inputs: unknown,
    schema: Schema,
    make: () => Promise<z.infer<Schema>>,
    isFinal: (made: z.infer<Schema>) => boolean = () => true,
  ): Promise<z.infer<Schema>> {
    const key = nameStep(step, inputs);
    const running = this.#running.get(key);
    if (running !== undefined) return schema.parse(await running);
    const making = this.#readOrMake(key, schema, make, isFinal);
    this.#running.set(key, making);
    try {
      return await making;
    } finally {
      this.#running.delete(key);
    }
  }

  async #readOrMake<Schema extends z.ZodType>(
    key: string,
    schema: Schema,
    make: () => Promise<z.infer<Schema>>,
    isFinal: (made: z.infer<Schema>) => boolean,
  ): Promise<z.infer<Schema>> {
    const path = join(this.#directory, key.slice(0, 2), `${key}.json`);
    const known = schema.safeParse(tryParseJson(await readFile(path, 'utf8').catch(() => '')));
    if (known.success) return known.data;
    const made = await make();
    if (!isFinal(made)) return made;
    try {
      await mkdir(join(path, '..'), { recursive: true });
      await writeWholeFile(path, JSON.stringify(made));
    } catch (error) {
      throw new InfrastructureError('preparation.unwritable', `${path}: cannot be written: ${getReason(error, path)}`, { cause: error });
    }
    return made;
  }
}
