import { resolve } from 'node:path';
import { Egress } from '../../service/access/egress.ts';
import { createSourceByUri } from '../../adapters/checkpoints/by-uri.ts';
import { assertPath, filesystemSource } from '../../adapters/checkpoints/filesystem.ts';
import { createHttpsSource } from '../../adapters/checkpoints/https.ts';
import { ObjectSource } from '../../adapters/checkpoints/objects/object-source.ts';
import { CheckedRequests } from '../../adapters/http/checked-requests.ts';
import { createBucketStores } from './bucket-stores.ts';
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';

/** The owner of this process may name every source that it can reach. */
export const EVERYWHERE = { hosts: ['*'], networks: ['0.0.0.0/0', '::/0'], plainHttp: true };

/** Creates the source for the person who runs Muster, who may read any checkpoint. Part of the composition root. */
export function createSourceForOwner({ sources }: Pick<Config, 'sources'>, clock: Clock): CheckpointSource {
  const requests = new CheckedRequests({ egress: new Egress(EVERYWHERE, 'sources'), clock });
  const stores = createBucketStores(sources);
  return createSourceByUri({
    files: filesystemSource,
    web: createHttpsSource(requests, clock),
    gcs: new ObjectSource(stores.gcs, clock),
    s3: new ObjectSource(stores.s3, clock),
  });
}

/** Returns the URI or absolute path of a checkpoint that a person wrote on a command line. @throws InputError `checkpoint.path` for an empty one. */
export function toCheckpointUri(written: string): string {
  return isUri(written) ? written : resolve(assertPath(written));
}

/** Whether it is a URI rather than a path. */
export function isUri(written: string): boolean {
  return /^([a-z][a-z0-9+.-]*:\/\/|file:|agent:)/i.test(written);
}
