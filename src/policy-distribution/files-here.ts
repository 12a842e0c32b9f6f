import PQueue from 'p-queue';
import { InfrastructureError, InputError } from '../kernel/errors.ts';
import type { Digest } from '../kernel/ids.ts';
import type { StoredFile } from './stored-checkpoint.ts';
import { checkpointDigest, type CheckpointFile } from './checkpoint.ts';
import { incomplete, readManifest } from './manifest.ts';
import { undefinedWhenDamaged } from './packed-files.ts';
import type { StoredContents } from './stored-contents.ts';
import type { StoredObject } from './stored-object.ts';

/** Some threads look for files, and take their time where the disk is far away. */
const LOOKED_FOR_AT_A_TIME = 16;

/** The files of a checkpoint as they lie in the store; undefined when one of them is not there, or not whole. */
export async function filesThatAreHere(
  files: readonly CheckpointFile[],
  contents: StoredContents,
): Promise<readonly StoredFile[] | undefined> {
  const objects = await objectsOf(files, (digest) => contents.find(digest).catch(undefinedWhenDamaged));
  const found: StoredFile[] = [];
  for (const [at, { path, size, bucketObject }] of files.entries()) {
    const object = objects[at];
    if (object?.size !== size) return undefined;
    found.push({ path, ...object, bucketObject });
  }
  return found;
}

/**
 * The files of a checkpoint that was here once.
 *
 * @throws InfrastructureError `store.content-missing` when one of them is no longer there, or not whole; and as `StoredContents.find` does.
 */
export async function filesOfRestored(
  checkpoint: Digest,
  files: readonly CheckpointFile[],
  contents: StoredContents,
): Promise<readonly StoredFile[]> {
  const objects = await objectsOf(files, (digest) => contents.find(digest));
  return files.map((file, at) => {
    const object = objects[at];
    if (object?.size === file.size) return { path: file.path, ...object };
    throw new InfrastructureError(
      'store.content-missing',
      `${file.path} of the checkpoint ${checkpoint} (${file.digest}) is no longer in the checkpoint store; was its directory emptied? Ask for the evaluation again`,
    );
  });
}

type Find = (digest: Digest) => Promise<StoredObject | undefined>;

/** In the order of the files. */
function objectsOf(files: readonly CheckpointFile[], find: Find): Promise<readonly (StoredObject | undefined)[]> {
  const queue = new PQueue({ concurrency: LOOKED_FOR_AT_A_TIME });
  return queue.addAll(
    files.map(
      ({ digest }) =>
        () =>
          find(digest),
    ),
  );
}

/** @throws InputError `checkpoint.manifest`, `checkpoint.digest`, and `checkpoint.incomplete` with the first digests that are not here. */
export async function filesOfManifest(manifest: string, expected: Digest, contents: StoredContents): Promise<readonly StoredFile[]> {
  const entries = readManifest(manifest);
  const files: StoredFile[] = [];
  const missing: Digest[] = [];
  for (const { path, digest } of entries) {
    const object = await contents.find(digest);
    if (object) files.push({ path, ...object });
    else missing.push(digest);
  }
  if (missing.length > 0) throw incomplete(expected, missing, entries.length);
  const digest = checkpointDigest('directory', files);
  if (digest !== expected)
    throw new InputError('checkpoint.digest', `checkpoint: the manifest has the digest ${digest}; expected ${expected}`);
  return files;
}
