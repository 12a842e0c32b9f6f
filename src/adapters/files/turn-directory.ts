import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { formatStoredAnswer, parseStoredAnswer, type EpisodeTurns, type StoredTurn } from '../../agents/acting/model/stored-turns.ts';
import { ignoreMissing } from '../../kernel/errno.ts';
import { getMessage, InfrastructureError } from '../../kernel/errors.ts';
import { writeWholeFile } from './whole-file.ts';

const ENDING = '.json';
const turnSchema = z.strictObject({ request: z.string(), answer: z.unknown() });

/** Turns of models as files, `EPISODE/REQUEST.json` by their digests, each written whole or not at all. */
export class TurnDirectory implements EpisodeTurns {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async read(episode: string): Promise<readonly StoredTurn[]> {
    return await this.#attempt(async () => {
      const place = this.#getPlace(episode);
      const names = ((await readdir(place).catch(ignoreMissing)) ?? []).filter((name) => name.endsWith(ENDING));
      return await Promise.all(names.map(async (name) => parseTurn(await readFile(join(place, name), 'utf8'))));
    });
  }

  async add(episode: string, { request, answer }: StoredTurn): Promise<void> {
    await this.#attempt(async () => {
      const place = this.#getPlace(episode);
      const path = join(place, `${computeDigest(request)}${ENDING}`);
      if (((await readdir(place).catch(ignoreMissing)) ?? []).includes(basename(path))) return;
      await mkdir(place, { recursive: true });
      await writeWholeFile(path, JSON.stringify({ request, answer: formatStoredAnswer(answer) }));
    });
  }

  async forget(episode: string): Promise<void> {
    await this.#attempt(() => rm(this.#getPlace(episode), { recursive: true, force: true }));
  }

  #getPlace(episode: string): string {
    return join(this.#path, computeDigest(episode));
  }

  async #attempt<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof InfrastructureError) throw error;
      const why = `${this.#path} could not keep the turns of an episode: ${getMessage(error)}`;
      throw new InfrastructureError('out.write', `${why}; free space there or name another directory`, { cause: error });
    }
  }
}

function parseTurn(text: string): StoredTurn {
  const { request, answer } = turnSchema.parse(JSON.parse(text));
  return { request, answer: parseStoredAnswer(answer) };
}

function computeDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
