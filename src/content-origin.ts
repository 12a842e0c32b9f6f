import { OriginServer } from './adapters/delivery/origin-server.ts';
import type { Config } from './config/config.ts';
import type { Clock } from './kernel/clock.ts';
import type { Log } from './kernel/log.ts';
import type { CheckpointStore } from './policy-distribution/checkpoint-store.ts';

/** Where sandboxes elsewhere fetch checkpoints from, if the configuration has it. Part of the composition root. */
export function openOrigin(
  { delivery }: Pick<Config, 'delivery'>,
  checkpoints: CheckpointStore,
  clock: Clock,
  log: Log,
): OriginServer | undefined {
  const { url, ...settings } = delivery;
  if (url === 'none') return undefined;
  return new OriginServer({ ...settings, url, clock, log, find: (digest) => checkpoints.file(digest) });
}
