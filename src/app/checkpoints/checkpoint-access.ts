import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { systemClock } from '../../kernel/clock.ts';
import type { Syncing } from '../../policy-distribution/store/content-store.ts';
import { CheckpointStore } from '../../policy-distribution/store/checkpoint-store.ts';

/** Opens the checkpoint store of a configuration. Part of the composition root. @throws InfrastructureError `store.unusable` */
export function openCheckpoints(
  { stateDir, checkpoints }: Pick<Config, 'stateDir' | 'checkpoints'>,
  syncing: Syncing = 'before',
): Promise<CheckpointStore> {
  return CheckpointStore.open({ directory: join(stateDir, 'store'), limits: checkpoints, clock: systemClock, syncing });
}
