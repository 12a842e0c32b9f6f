import PQueue from 'p-queue';
import type { Digest } from '../kernel/ids.ts';
import type { StoredFile } from './checkpoint-store.ts';
import type { CheckpointFile } from './checkpoint.ts';
import { incomplete, readManifest } from './manifest.ts';
import { undefinedWhenDamaged } from './packed-files.ts';
import type { StoredContents } from './stored-contents.ts';

/** Some threads look for files, and take their time where the disk is far away. */
const LOOKED_FOR_AT_A_TIME = 16;

/** The files of a checkpoint as they lie in the store; undefined when one of them is not there, or not whole. */
export async function filesThatAreHere(
  files: readonly CheckpointFile[],
  contents: StoredContents,
): Promise<readonly StoredFile[] | undefined> {
  const queue = new PQueue({ concurrency: LOOKED_FOR_AT_A_TIME });
  const objects = await queue.addAll(files.map((file) => () => contents.find(file.digest).catch(undefinedWhenDamaged)));
  const found: StoredFile[] = [];
  for (const [at, { path, size, bucketObject }] of files.entries()) {
    const object = objects[at];
    if (object?.size !== size) return undefined;
    found.push({ path, ...object, bucketObject });
  }
  return found;
}

/** @throws InputError `checkpoint.manifest`, and `checkpoint.incomplete` with the first digests that are not here. */
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
  return files;
}
