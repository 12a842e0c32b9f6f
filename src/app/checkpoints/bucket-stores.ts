import { GcsStore } from '../../adapters/checkpoints/objects/gcs.ts';
import type { ObjectStore } from '../../adapters/checkpoints/objects/object-store.ts';
import { S3Store } from '../../adapters/checkpoints/objects/s3.ts';
import type { Config } from '../../config/config.ts';

export interface BucketStores {
  readonly gcs: ObjectStore;
  readonly s3: ObjectStore;
}

/** Creates the object stores of the configuration. A client is loaded and connected only when a bucket is named. Part of the composition root. */
export function createBucketStores({ gcs, s3 }: Pick<Config['sources'], 'gcs' | 's3'>): BucketStores {
  return {
    gcs: new GcsStore({ ...omitAuto('endpoint', gcs.endpoint), ...omitAuto('project', gcs.project) }),
    s3: new S3Store({ ...omitAuto('endpoint', s3.endpoint), ...omitAuto('region', s3.region), pathStyle: s3.pathStyle }),
  };
}

function omitAuto<Name extends string>(name: Name, value: string): { readonly [name in Name]?: string };
function omitAuto(name: string, value: string): Readonly<Record<string, string>> {
  return value === 'auto' ? {} : { [name]: value };
}
