import { createHash } from 'node:crypto';
import { parseDigest, type Digest } from '../../kernel/ids.ts';
import { assertAcceptable, type CheckpointLimits } from './checkpoint-checks.ts';
import type { CheckpointSource, ListedFile } from '../checkpoint-source.ts';
import { digestCheckpoint, sortByPath, type CheckpointFile, type CheckpointKind } from '../checkpoint.ts';
import { assertSameListing, readWholeFile } from '../files/listed-files.ts';
import type { FileContents } from '../formats/file-contents.ts';
import type { ReadAt } from '../formats/read-at.ts';
import { untrustedFiles } from './untrusted-files.ts';

/** The content of a checkpoint, without loading it. */
export interface CheckpointInspection {
  /** It is undefined when the checkpoint was not read completely. */
  readonly digest?: Digest | undefined;
  readonly kind: CheckpointKind;
  /** The number of bytes over all files. */
  readonly bytes: number;
  readonly files: readonly InspectedFile[];
}

export interface InspectedFile extends Omit<CheckpointFile, 'digest'> {
  readonly digest?: Digest | undefined;
  readonly contents: FileContents;
}

export interface InspectionPorts {
  readonly source: CheckpointSource;
  readonly limits: CheckpointLimits;
  /** Opens a listed file for reads anywhere in it. */
  readonly open: (file: ListedFile) => Promise<AsyncDisposable & { readonly readAt: ReadAt }>;
  /** Whether all of it is read, for its digest; the beginning and the end of a file are read in any case. */
  readonly readsAll: boolean;
}

/** @throws as `CheckpointStore.add` does, and InputError `checkpoint.zip`, `checkpoint.onnx`. */
export async function inspectCheckpoint(
  { source, limits, open, readsAll }: InspectionPorts,
  uri: string,
  signal: AbortSignal,
): Promise<CheckpointInspection> {
  const options = { signal, maxFiles: limits.maxFiles };
  const listing = await source.list(uri, options);
  assertAcceptable(uri, listing.files, limits);
  const files: InspectedFile[] = [];
  for (const listed of sortByPath(listing.files)) {
    signal.throwIfAborted();
    await using opened = await open(listed);
    const { path, address, size } = listed;
    const contents = await untrustedFiles.read('contents', { path, address, size }, opened.readAt);
    // Checked last: the inspected files are the listed ones.
    const digest = readsAll ? await digestStream(readWholeFile(listed, source.read(listed, signal))) : undefined;
    files.push({ path, size, digest, contents });
  }
  if (files.length > 1) assertSameListing(uri, listing, await source.list(uri, options));
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return {
    digest: readsAll ? digestCheckpoint(listing.kind, files.flatMap(toCheckpointFiles)) : undefined,
    kind: listing.kind,
    bytes,
    files,
  };
}

async function digestStream(bytes: AsyncIterable<Uint8Array>): Promise<Digest> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) hash.update(chunk);
  return parseDigest(`sha256:${hash.digest('hex')}`);
}

function toCheckpointFiles({ path, size, digest }: InspectedFile): readonly CheckpointFile[] {
  return digest === undefined ? [] : [{ path, size, digest }];
}
