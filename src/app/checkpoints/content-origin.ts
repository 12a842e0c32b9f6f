import { join } from 'node:path';
import { ObjectLinks } from '../../adapters/checkpoints/objects/object-links.ts';
import { OriginServer, type Served } from '../../adapters/delivery/origin-server.ts';
import { createBucketStores } from './bucket-stores.ts';
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { CheckpointStore } from '../../policy-distribution/store/checkpoint-store.ts';
import type { ContentOrigin } from '../../policy-distribution/delivery/content-origin.ts';
import { DeltaEncodedContents } from '../../policy-distribution/delivery/delta-encoded-contents.ts';

/** An origin from which remote sandboxes fetch checkpoints, until it is disposed. */
export interface OpenOrigin extends ContentOrigin, AsyncDisposable {
  readonly served: Readonly<Served>;
}

/** Returns undefined when the configuration has none. Part of the composition root. */
export function openOrigin(
  { delivery, sources, stateDir }: Pick<Config, 'delivery' | 'sources' | 'stateDir'>,
  checkpoints: CheckpointStore,
  clock: Clock,
  log: Log,
): OpenOrigin | undefined {
  const { url, bucketHosts: hosts, ...settings } = delivery;
  if (url === 'none') return undefined;
  const find = checkpoints.findFile.bind(checkpoints);
  const encoded = new DeltaEncodedContents({ directory: join(stateDir, 'deliveries'), clock, find });
  const encode = encoded.encode.bind(encoded);
  const origin = new OriginServer({ ...settings, url, clock, log, find, encode: ({ digest, name }, bases) => encode(digest, name, bases) });
  const objects = new ObjectLinks({ ...createBucketStores(sources), hosts, seconds: settings.linkSeconds, clock, log });
  return {
    served: origin.served,
    async link(file, checkpoint, signal) {
      const object = hosts.length === 0 ? undefined : await checkpoints.findBucketObject(checkpoint, file.digest);
      return { url: await origin.link(file), bucketUrl: await objects.to(object, signal) };
    },
    [Symbol.asyncDispose]: async () => {
      await origin[Symbol.asyncDispose]();
      await encoded[Symbol.asyncDispose]();
    },
  };
}
