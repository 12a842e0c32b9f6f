import { createHash } from 'node:crypto';
import { parseDigest, type Digest } from '../kernel/ids.ts';
import { assertAcceptable, type CheckpointLimits } from './checkpoint-checks.ts';
import type { CheckpointSource, ListedFile } from './checkpoint-source.ts';
import { checkpointDigest, sortedByPath, type CheckpointFile, type CheckpointKind } from './checkpoint.ts';
import { assertSameListing, wholeFile } from './listed-files.ts';
import { readSafetensorsHeader, type ReadAt } from './safetensors.ts';
import { readZipDirectory, type ZipEntry } from './zip-directory.ts';

/** What a checkpoint holds, without loading any of it. */
export interface CheckpointInspection {
  readonly digest: Digest;
  readonly kind: CheckpointKind;
  /** Of all files. */
  readonly bytes: number;
  readonly files: readonly InspectedFile[];
}

export interface InspectedFile extends CheckpointFile {
  readonly contents: FileContents;
}

export type FileContents =
  | { readonly format: 'safetensors'; readonly tensors: readonly InspectedTensor[]; readonly metadata: Readonly<Record<string, string>> }
  /** What its entries say that it is. */
  | { readonly format: 'torchscript' | 'torch.save' | 'keras' | 'zip'; readonly entries: readonly ZipEntry[] }
  /** Nothing is known of what is in it. */
  | { readonly format: 'other' };

export interface InspectedTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: number;
}

export interface InspectionPorts {
  readonly source: CheckpointSource;
  readonly limits: CheckpointLimits;
  /** Opens a listed file for reads anywhere in it. */
  readonly open: (file: ListedFile) => Promise<AsyncDisposable & { readonly readAt: ReadAt }>;
}

/** @throws as `CheckpointStore.add` does, and InputError `checkpoint.zip`. */
export async function inspectCheckpoint(
  { source, limits, open }: InspectionPorts,
  uri: string,
  signal: AbortSignal,
): Promise<CheckpointInspection> {
  const options = { signal, maxFiles: limits.maxFiles };
  const listing = await source.list(uri, options);
  assertAcceptable(uri, listing.files, limits);
  const files: InspectedFile[] = [];
  for (const listed of sortedByPath(listing.files)) {
    signal.throwIfAborted();
    const hash = createHash('sha256');
    await using opened = await open(listed);
    const contents = await contentsOf(listed, opened.readAt);
    // Last: whatever was looked at is what was listed.
    for await (const chunk of wholeFile(listed, source.read(listed, signal))) hash.update(chunk);
    files.push({ path: listed.path, size: listed.size, digest: parseDigest(`sha256:${hash.digest('hex')}`), contents });
  }
  if (files.length > 1) assertSameListing(uri, listing, await source.list(uri, options));
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return { digest: checkpointDigest(listing.kind, files), kind: listing.kind, bytes, files };
}

async function contentsOf({ path, address, size }: ListedFile, readAt: ReadAt): Promise<FileContents> {
  if (path.endsWith('.safetensors')) {
    const { tensors, metadata } = await readSafetensorsHeader(address, size, readAt);
    return {
      format: 'safetensors',
      tensors: tensors.map(({ name, dtype, shape, begin, end }) => ({ name, dtype, shape, bytes: end - begin })),
      metadata,
    };
  }
  if (!/\.(pt|ts|pth|keras)$/.test(path)) return { format: 'other' };
  const entries = await readZipDirectory(address, size, readAt);
  return { format: zipFormat(new Set(entries.map(({ name }) => name))), entries };
}

/** PyTorch puts everything into a directory of a name of its own. */
function zipFormat(names: ReadonlySet<string>): 'torchscript' | 'torch.save' | 'keras' | 'zip' {
  if (names.has('config.json') && names.has('model.weights.h5')) return 'keras';
  const inner = new Set([...names].map((name) => name.slice(name.indexOf('/') + 1)));
  if (inner.has('constants.pkl')) return 'torchscript';
  return inner.has('data.pkl') ? 'torch.save' : 'zip';
}
