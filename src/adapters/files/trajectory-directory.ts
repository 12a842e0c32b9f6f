import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { trajectorySchema, type Trajectory } from '../../agents/rollouts/record/trajectory.ts';
import { getReason } from '../../kernel/errno.ts';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import { writeWholeFile } from './whole-file.ts';

const ENDING = '.json';

/** Stores trajectories as files, `TASK/ID.json`, each complete or absent. "/" in the name of a task is "__" in that of its directory. */
export class TrajectoryDirectory {
  readonly path: string;
  readonly #written = new Set<string>();

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Writes a trajectory. The first one of an id counts, as for outcomes: an episode may be played twice at the same time. Files of an earlier process
   * are replaced.
   *
   * @throws InfrastructureError `out.write`
   */
  async write(trajectory: Trajectory): Promise<void> {
    const { trajectory: id, task } = trajectory;
    const key = `${task} ${id}`;
    if (this.#written.has(key)) return;
    this.#written.add(key);
    const directory = join(this.path, task.replaceAll('/', '__'));
    const path = join(directory, `${id}${ENDING}`);
    try {
      await mkdir(directory, { recursive: true });
      await writeWholeFile(path, `${JSON.stringify(trajectory)}\n`);
    } catch (error) {
      const remedy = 'free space there or name another directory';
      throw new InfrastructureError('out.write', `${path} could not be written: ${getReason(error, path)}; ${remedy}`, { cause: error });
    }
  }

  /**
   * Reads the trajectories one after the other, by task and then by id: one is in memory at a time. @throws InputError `rollouts.none`,
   * `rollouts.invalid`
   */
  async *read(): AsyncGenerator<Trajectory> {
    for (const path of await this.#listFiles()) yield await readTrajectory(path);
  }

  async #listFiles(): Promise<readonly string[]> {
    const tasks = await readdir(this.path, { withFileTypes: true }).catch((error: unknown) => {
      const expected = 'expected a directory that "muster eval --out" wrote for an agent that is a model';
      throw new InputError('rollouts.none', `${this.path}: there are no trajectories (${getReason(error, this.path)}); ${expected}`);
    });
    const names = tasks.filter((each) => each.isDirectory()).map(({ name }) => name);
    const files: string[] = [];
    for (const name of names.sort()) {
      const listed = await readdir(join(this.path, name));
      const kept = listed.filter((each) => each.endsWith(ENDING));
      files.push(...kept.sort(compareNumbered).map((each) => join(this.path, name, each)));
    }
    return files;
  }
}

/** @throws InputError `rollouts.invalid` */
export async function readTrajectory(path: string): Promise<Trajectory> {
  const text = await readFile(path, 'utf8');
  try {
    return trajectorySchema.parse(JSON.parse(text));
  } catch (error) {
    throw new InputError('rollouts.invalid', `${path} is not a trajectory of this version of Muster: ${getMessage(error).slice(0, 500)}`, {
      cause: error,
    });
  }
}

/** Orders "a-2" before "a-10". */
function compareNumbered(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
