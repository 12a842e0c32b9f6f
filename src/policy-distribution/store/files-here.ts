import { open } from 'node:fs/promises';
import PQueue from 'p-queue';
import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { StoredFile } from '../stored-checkpoint.ts';
import { digestCheckpoint, type CheckpointFile } from '../checkpoint.ts';
import { createIncompleteError, type ManifestEntry } from '../inspection/manifest.ts';
import { ignoreDamage } from './packed-files.ts';
import { translateErrors, readAt } from '../files/store-files.ts';
import type { StoredContents } from './stored-contents.ts';
import { untrustedFiles } from '../inspection/untrusted-files.ts';
import type { UsableFiles } from '../files/usable-files.ts';
import { inspectObject, type StoredObject } from '../files/stored-object.ts';

/** Files that are looked up at a time: a look-up takes long where the disk is remote. */
const LOOKED_FOR_AT_A_TIME = 16;

/** Finds the stored files of a checkpoint; undefined when one of them is missing or incomplete. */
export async function findFilesHere(
  files: readonly CheckpointFile[],
  contents: StoredContents,
): Promise<readonly StoredFile[] | undefined> {
  const objects = await findObjects(files, (digest) => contents.find(digest).catch(ignoreDamage));
  const found: StoredFile[] = [];
  for (const [at, { path, size, bucketObject }] of files.entries()) {
    const object = objects[at];
    if (object?.size !== size) return undefined;
    found.push({ path, ...object, bucketObject });
  }
  return found;
}

/**
 * Lists the files of a checkpoint that was stored before.
 *
 * @throws InfrastructureError `store.content-missing` when one of them is missing or incomplete; and as `StoredContents.find` does.
 */
export async function listRestoredFiles(
  checkpoint: Digest,
  files: readonly CheckpointFile[],
  contents: StoredContents,
): Promise<readonly StoredFile[]> {
  const objects = await findObjects(files, (digest) => contents.find(digest));
  return files.map((file, at) => {
    const object = objects[at];
    if (object?.size === file.size) return { path: file.path, ...object };
    throw new InfrastructureError(
      'store.content-missing',
      `${file.path} of the checkpoint ${checkpoint} is not in the checkpoint store of this machine: the store was emptied, or another server of the database has the checkpoint; request the evaluation again`,
    );
  });
}

/** Checks each file of a directory whose files are all here. @throws InputError as `checkFile` does. */
export async function checkFilesHere(files: readonly StoredFile[]): Promise<void> {
  const beside = new Set(files.map(({ path }) => path));
  for (const file of files)
    await inspectObject(file, (readBytes, size) =>
      untrustedFiles.read('check', { path: file.path, address: file.path, size, beside }, readBytes),
    );
}

type Find = (digest: Digest) => Promise<StoredObject | undefined>;

/** Returns objects in the order of the files. */
function findObjects(files: readonly CheckpointFile[], find: Find): Promise<readonly (StoredObject | undefined)[]> {
  const queue = new PQueue({ concurrency: LOOKED_FOR_AT_A_TIME });
  return queue.addAll(
    files.map(
      ({ digest }) =>
        () =>
          find(digest),
    ),
  );
}

async function listEntries(
  { path, maxFiles }: { readonly path: string; readonly maxFiles: number },
  expected: Digest,
): Promise<readonly ManifestEntry[]> {
  await using handle = await translateErrors(path, () => open(path, 'r'));
  const { size } = await translateErrors(path, () => handle.stat());
  return await untrustedFiles.read('manifest', { address: expected, size, maxFiles }, (position, length) =>
    translateErrors(path, () => readAt(handle, position, length)),
  );
}

/**
 * @param usable the files that the manifest's sender may name. Others are not looked up: the time for it would reveal that they are stored. @throws
 * InputError `checkpoint.manifest`, `checkpoint.too-many-files`, `checkpoint.digest`, and `checkpoint.incomplete` with the first missing digests.
 */
export async function readManifestFiles(
  manifest: { readonly path: string; readonly maxFiles: number },
  expected: Digest,
  contents: StoredContents,
  usable: UsableFiles,
): Promise<readonly StoredFile[]> {
  const entries = await listEntries(manifest, expected);
  const allowed = await usable([...new Set(entries.map(({ digest }) => digest))]);
  const files: StoredFile[] = [];
  const missing: Digest[] = [];
  for (const { path, digest } of entries) {
    const object = allowed.has(digest) ? await contents.find(digest) : undefined;
    if (object) files.push({ path, ...object });
    else missing.push(digest);
  }
  if (missing.length > 0) throw createIncompleteError(expected, missing, entries.length);
  const digest = digestCheckpoint('directory', files);
  if (digest !== expected)
    throw new InputError('checkpoint.digest', `checkpoint: the manifest has the digest ${digest}; expected ${expected}`);
  return files;
}
