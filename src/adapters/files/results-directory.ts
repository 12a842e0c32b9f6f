import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import type { Clock } from '../../kernel/clock.ts';
import { getReason } from '../../kernel/errno.ts';
import { InfrastructureError, InputError, MusterError } from '../../kernel/errors.ts';
import { makeDirectory } from './made-directory.ts';
import { holdPath } from './process-hold.ts';
import { TrajectoryDirectory } from './trajectory-directory.ts';
import { TurnDirectory } from './turn-directory.ts';
import { writeWholeFile } from './whole-file.ts';
import { appendWholeLines } from './whole-lines.ts';

/** Episodes of earlier, interrupted runs of the same evaluation. A resumed run reads them; they are removed when it is complete. */
const EARLIER = 'episodes.earlier.ndjson';
const EPISODES = 'episodes.ndjson';
const HOLD = 'written-by';
const TRAJECTORIES = 'trajectories';
const TURNS = 'turns';

/**
 * Stores an evaluation's results: `config.json` and `episodes.ndjson` while it runs, `summary.json` at its end. The summary appears complete, as the
 * last file: a directory without one belongs to an unfinished evaluation.
 *
 * One process at a time writes in a directory.
 */
export class ResultsDirectory implements AsyncDisposable {
  readonly #path: string;
  /** The outermost directory that was made for it; undefined when it was there. */
  readonly #made: string | undefined;
  readonly #isResumed: boolean;
  readonly #hold: AsyncDisposable;
  readonly #episodes: WriteStream;
  /** Trajectories of models. The directory is made with the first one. */
  readonly trajectories: TrajectoryDirectory;
  /** Answers of models in unfinished episodes, for a run that resumes. */
  readonly turns: TurnDirectory;
  #isEmpty = true;
  #failure: Error | undefined;
  /** Shared by all that wait for the disk. */
  #draining: Promise<void> | undefined;

  private constructor(path: string, origin: { readonly made?: string | undefined; readonly isResumed: boolean }, hold: AsyncDisposable) {
    this.#path = path;
    this.#made = origin.made;
    this.#isResumed = origin.isResumed;
    this.#hold = hold;
    this.trajectories = new TrajectoryDirectory(join(path, TRAJECTORIES));
    this.turns = new TurnDirectory(join(path, TURNS));
    this.#episodes = createWriteStream(join(path, EPISODES), { flags: origin.isResumed ? 'w' : 'wx' });
    this.#episodes.on('error', (error) => (this.#failure ??= this.#createWriteError(error)));
  }

  /** @throws InputError when the directory holds something already; InfrastructureError when it cannot be written. */
  static async create(path: string, configuration: unknown, clock: Clock): Promise<ResultsDirectory> {
    const made = await makeOutDirectory(path);
    await using stack = new AsyncDisposableStack();
    const hold = stack.use(await holdDirectory(path, clock));
    const present = (await readdir(path)).filter((name) => !name.startsWith(`${EPISODES}.${HOLD}.`));
    if (present.length > 0) {
      throw new InputError(
        'out.not-empty',
        `--out ${path} is not empty (it holds ${present.slice(0, 3).join(', ')}); name a new directory, so that no result is overwritten`,
      );
    }
    await writeDocument(path, 'config.json', configuration);
    const results = stack.use(new ResultsDirectory(path, { made, isResumed: false }, hold));
    await results.#waitUntilOpen();
    stack.move();
    return results;
  }

  /**
   * Opens the directory of an interrupted evaluation again. Its episodes are kept separately until the evaluation is complete, so that another
   * interruption loses none of them.
   *
   * @returns the directory, and the path of the file with the episodes of all earlier runs, in which an index may occur more than once. @throws
   * InputError when another process writes there; InfrastructureError when it cannot be written.
   */
  static async resume(path: string, configuration: unknown, clock: Clock): Promise<{ results: ResultsDirectory; earlier: string }> {
    await using stack = new AsyncDisposableStack();
    const hold = stack.use(await holdDirectory(path, clock));
    const earlier = join(path, EARLIER);
    try {
      await appendWholeLines(join(path, EPISODES), earlier);
    } catch (error) {
      throw createUnkeptError(earlier, error);
    }
    await writeDocument(path, 'config.json', configuration);
    const results = stack.use(new ResultsDirectory(path, { isResumed: true }, hold));
    await results.#waitUntilOpen();
    stack.move();
    return { results, earlier };
  }

  /**
   * Opens the directory of an earlier evaluation, without the episodes and the summary that it has.
   *
   * @throws as `resume` does.
   */
  static async beginAnew(path: string, configuration: unknown, clock: Clock): Promise<ResultsDirectory> {
    await using stack = new AsyncDisposableStack();
    const hold = stack.use(await holdDirectory(path, clock));
    for (const name of ['summary.json', EARLIER, TRAJECTORIES, TURNS]) await rm(join(path, name), { force: true, recursive: true });
    await writeDocument(path, 'config.json', configuration);
    const results = stack.use(new ResultsDirectory(path, { isResumed: true }, hold));
    await results.#waitUntilOpen();
    stack.move();
    return results;
  }

  /** Whether something could not be written: nothing that is written now would be whole. */
  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /** Writes one line for each episode. @returns a promise when the disk does not keep up. @throws InfrastructureError when it cannot be stored. */
  write(record: object): Promise<void> | undefined {
    // A failed stream is closed before it reports why.
    const { errored, destroyed } = this.#episodes;
    if (errored) throw this.#failure ?? this.#createWriteError(errored);
    if (destroyed) throw new Error('the results directory has been closed');
    this.#isEmpty = false;
    if (this.#episodes.write(`${JSON.stringify(record)}\n`)) return undefined;
    this.#draining ??= this.#waitUntilDrained().finally(() => (this.#draining = undefined));
    return this.#draining;
  }

  /** Makes all episodes durable, then the summary. @throws InfrastructureError when something cannot be stored. */
  async conclude(summary: { readonly partial: boolean }): Promise<void> {
    this.#episodes.end();
    try {
      await finished(this.#episodes);
    } catch (error) {
      throw this.#failure ?? this.#createWriteError(error);
    }
    await writeDocument(this.#path, 'summary.json', summary);
    if (summary.partial) return;
    for (const name of [EARLIER, TURNS]) await rm(join(this.#path, name), { force: true, recursive: true });
  }

  /**
   * Removes the directory of a refused evaluation, so that the corrected one can use it. Files of others stay, and so does everything once an episode
   * has been written, in this run or in an earlier one.
   */
  async withdraw(): Promise<void> {
    await this[Symbol.asyncDispose]();
    if (!this.#isEmpty || this.#isResumed) return;
    for (const name of ['config.json', EPISODES, TURNS]) await rm(join(this.#path, name), { force: true, recursive: true });
    if (this.#made !== undefined) await removeEmpty(resolve(this.#path), resolve(this.#made));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#episodes.closed) {
      // `once` would throw for an earlier error: that was reported, or the file is no longer needed.
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
      this.#episodes.on('close', onClosed).destroy();
      await closed;
    }
    await this.#hold[Symbol.asyncDispose]();
  }

  async #waitUntilOpen(): Promise<void> {
    try {
      await once(this.#episodes, 'open');
    } catch (error) {
      throw this.#failure ?? this.#createWriteError(error);
    }
  }

  async #waitUntilDrained(): Promise<void> {
    const settled = new AbortController();
    try {
      await Promise.race([
        once(this.#episodes, 'drain', { signal: settled.signal }),
        once(this.#episodes, 'close', { signal: settled.signal }),
      ]);
    } catch (error) {
      throw this.#failure ?? this.#createWriteError(error);
    } finally {
      settled.abort();
    }
    if (this.#failure) throw this.#failure;
  }

  #createWriteError(error: unknown): InfrastructureError {
    return createUnkeptError(join(this.#path, EPISODES), error);
  }
}

/** @returns the outermost directory that had to be made; undefined when it existed. */
async function makeOutDirectory(path: string): Promise<string | undefined> {
  try {
    return await makeDirectory(path);
  } catch (error) {
    throw new InputError(
      'out.unusable',
      `--out ${path} cannot be made: ${getReason(error, path)}; name a directory that you may write to`,
      {
        cause: error,
      },
    );
  }
}

async function holdDirectory(path: string, clock: Clock): Promise<AsyncDisposable> {
  const createInUseError = (other: string): InputError =>
    new InputError(
      'out.in-use',
      `--out ${path}: another process writes its results there (${other}); wait for its end, or name a new directory`,
    );
  try {
    return await holdPath(join(path, EPISODES), HOLD, clock, createInUseError);
  } catch (error) {
    throw error instanceof MusterError ? error : createUnkeptError(path, error);
  }
}

/** Removes the directory and its parents, up to the outermost one, as far as they are otherwise empty. */
async function removeEmpty(directory: string, outermost: string): Promise<void> {
  try {
    await rmdir(directory);
  } catch {
    return;
  }
  if (directory !== outermost) await removeEmpty(dirname(directory), outermost);
}

async function writeDocument(directory: string, name: string, content: unknown): Promise<void> {
  const path = join(directory, name);
  try {
    await writeWholeFile(path, `${JSON.stringify(content, undefined, 2)}\n`, { isSynced: true });
  } catch (error) {
    throw createUnkeptError(path, error);
  }
}

function createUnkeptError(path: string, error: unknown): InfrastructureError {
  return new InfrastructureError(
    'out.write',
    `${path} could not be written: ${getReason(error, path)}; free space there or name another directory`,
    { cause: error },
  );
}
