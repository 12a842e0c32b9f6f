import { join } from 'node:path';
import { assertOneResult } from '../../adapters/files/recorded-summaries.ts';
import { TrajectoryDirectory } from '../../adapters/files/trajectory-directory.ts';
import type { Trajectory } from '../../agents/rollouts/record/trajectory.ts';

const TRAJECTORIES = 'trajectories';

/**
 * Trajectories of a stored evaluation, one in memory at a time.
 *
 * @param directory of `muster eval --out`. @throws InputError `results.several`, `rollouts.none`, `rollouts.invalid`
 */
export async function* readKeptTrajectories(directory: string): AsyncGenerator<Trajectory> {
  await assertOneResult(directory);
  yield* new TrajectoryDirectory(join(directory, TRAJECTORIES)).read();
}
