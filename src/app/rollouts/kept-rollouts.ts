import { join } from 'node:path';
import { TrajectoryDirectory } from '../../adapters/files/trajectory-directory.ts';
import type { Trajectory } from '../../agents/rollouts/record/trajectory.ts';

const TRAJECTORIES = 'trajectories';

/**
 * Trajectories that an evaluation has kept, one in memory at a time.
 *
 * @param directory as `muster eval --out` names it. @throws InputError `rollouts.none`, `rollouts.invalid`
 */
export function readKeptTrajectories(directory: string): AsyncIterable<Trajectory> {
  return new TrajectoryDirectory(join(directory, TRAJECTORIES)).read();
}
