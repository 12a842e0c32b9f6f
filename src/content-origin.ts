import { join } from 'node:path';
import { OriginServer } from './adapters/delivery/origin-server.ts';
import type { Config } from './config/config.ts';
import type { Clock } from './kernel/clock.ts';
import type { Log } from './kernel/log.ts';
import type { CheckpointStore } from './policy-distribution/checkpoint-store.ts';
import type { ContentOrigin } from './policy-distribution/content-origin.ts';
import { ToldContents } from './policy-distribution/told-contents.ts';

/** Where sandboxes elsewhere fetch checkpoints from, until it is disposed of. */
export type OpenOrigin = ContentOrigin & AsyncDisposable;

/** Undefined when the configuration has none. Part of the composition root. */
export function openOrigin(
  { delivery, stateDir }: Pick<Config, 'delivery' | 'stateDir'>,
  checkpoints: CheckpointStore,
  clock: Clock,
  log: Log,
): OpenOrigin | undefined {
  const { url, ...settings } = delivery;
  if (url === 'none') return undefined;
  const find = checkpoints.file.bind(checkpoints);
  const told = new ToldContents({ directory: join(stateDir, 'deliveries'), clock, find });
  const tell = told.tell.bind(told);
  const origin = new OriginServer({ ...settings, url, clock, log, find, tell: ({ digest, name }, bases) => tell(digest, name, bases) });
  return {
    link: (file) => origin.link(file),
    [Symbol.asyncDispose]: async () => {
      await origin[Symbol.asyncDispose]();
      await told[Symbol.asyncDispose]();
    },
  };
}
