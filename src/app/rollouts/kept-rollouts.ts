import { join } from 'node:path';
import { suggestNearest } from '../../adapters/files/nearest-path.ts';
import { isThere } from '../../adapters/files/path-contents.ts';
import { assertOneResult } from '../../adapters/files/recorded-summaries.ts';
import { TrajectoryDirectory } from '../../adapters/files/trajectory-directory.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Trajectory } from '../../agents/rollouts/record/trajectory.ts';

/** @throws InputError `rollouts.missing` */
async function assertThere(directory: string): Promise<void> {
  if (!(await isThere(directory)))
    throw new InputError('rollouts.missing', `${directory}: does not exist; expected a directory that "muster eval --out" wrote`);
}

const TRAJECTORIES = 'trajectories';

/**
 * Reads the trajectories of a stored evaluation, one in memory at a time.
 *
 * @param directory of `muster eval --out`. @throws InputError `results.several`, `rollouts.none`, `rollouts.invalid`
 */
export async function* readKeptTrajectories(directory: string): AsyncGenerator<Trajectory> {
  await suggestNearest(directory, () => assertThere(directory));
  await assertOneResult(directory);
  yield* new TrajectoryDirectory(join(directory, TRAJECTORIES)).read();
}
