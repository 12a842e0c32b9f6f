import { join } from 'node:path';
import { Egress } from '../../service/access/egress.ts';
import { createSourceByUri } from '../../adapters/checkpoints/by-uri.ts';
import { createFilesystemSourceWithin } from '../../adapters/checkpoints/filesystem.ts';
import { createHttpsSource } from '../../adapters/checkpoints/https.ts';
import { ObjectSource } from '../../adapters/checkpoints/objects/object-source.ts';
import { CheckedRequests } from '../../adapters/http/checked-requests.ts';
import { createBucketStores } from './bucket-stores.ts';
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import type { CheckpointStore } from '../../policy-distribution/store/checkpoint-store.ts';
import { Uploads } from '../../policy-distribution/uploads/uploads.ts';

/** Decides how callers of a server may bring checkpoints, by the configuration. */

const HOUR_MS = 3_600_000;

/** Makes the source for checkpoints that callers name by a URI. */
export function createSourceForCallers({ sources }: Pick<Config, 'sources'>, clock: Clock): CheckpointSource {
  const requests = new CheckedRequests({ egress: new Egress(sources, 'sources'), clock });
  const stores = createBucketStores(sources);
  return createSourceByUri({
    files: createFilesystemSourceWithin(sources.roots),
    web: createHttpsSource(requests, clock),
    gcs: new ObjectSource(stores.gcs, clock, sources.buckets),
    s3: new ObjectSource(stores.s3, clock, sources.buckets),
  });
}

/** Opens the uploads of callers. @throws InfrastructureError `store.unusable` */
export function openUploads(
  { stateDir, checkpoints: { maxBytes, unfinishedHours } }: Pick<Config, 'stateDir' | 'checkpoints'>,
  store: CheckpointStore,
  clock: Clock,
): Promise<Uploads> {
  return Uploads.open(join(stateDir, 'uploads'), store, { maxBytes, unfinishedMs: unfinishedHours * HOUR_MS }, clock);
}
