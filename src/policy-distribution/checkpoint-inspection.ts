import { createHash } from 'node:crypto';
import { parseDigest, type Digest } from '../kernel/ids.ts';
import { assertAcceptable, type CheckpointLimits } from './checkpoint-checks.ts';
import type { CheckpointSource, ListedFile } from './checkpoint-source.ts';
import { checkpointDigest, sortedByPath, type CheckpointFile, type CheckpointKind } from './checkpoint.ts';
import { assertSameListing, wholeFile } from './listed-files.ts';
import { readSafetensorsHeader, type ReadAt } from './safetensors.ts';
import { readKerasModel, UnknownKerasModel, type KerasModel } from './keras-model.ts';
import { readOnnxModel, type OnnxModel } from './onnx-model.ts';
import { UnknownPickle } from './pickle-opcodes.ts';
import { pickledTensors, type PickledTensor } from './pickled-tensors.ts';
import { readZipDirectory, readZipEntry, type LocatedEntry, type ZipEntry } from './zip-directory.ts';

/** What a checkpoint holds, without loading any of it. */
export interface CheckpointInspection {
  /** Undefined when not all of it was read. */
  readonly digest?: Digest | undefined;
  readonly kind: CheckpointKind;
  /** Of all files. */
  readonly bytes: number;
  readonly files: readonly InspectedFile[];
}

export interface InspectedFile extends Omit<CheckpointFile, 'digest'> {
  readonly digest?: Digest | undefined;
  readonly contents: FileContents;
}

export type FileContents =
  | { readonly format: 'safetensors'; readonly tensors: readonly InspectedTensor[]; readonly metadata: Readonly<Record<string, string>> }
  | ({ readonly format: 'onnx' } & OnnxModel)
  /** What its entries say that it is. */
  | { readonly format: 'zip'; readonly entries: readonly ZipEntry[] }
  | {
      readonly format: 'keras';
      readonly entries: readonly ZipEntry[];
      /** As its configuration tells it, which is not built; undefined, and why, when that is none. */
      readonly model?: KerasModel | undefined;
      readonly unknown?: string | undefined;
    }
  | {
      readonly format: 'torch.save' | 'torchscript';
      readonly entries: readonly ZipEntry[];
      /** As its pickle tells them, which is not run; undefined, and why, when that holds more than tensors and plain values. */
      readonly tensors?: readonly PickledTensor[] | undefined;
      readonly unknown?: string | undefined;
    }
  /** Nothing is known of what is in it. */
  | { readonly format: 'other' };

export interface InspectedTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: number;
}

/** Beyond that of a hundred thousand tensors. */
const MOST_PICKLE_BYTES = 32 * 2 ** 20;
const KERAS_CONFIG = 'config.json';
/** Beyond that of ten thousand layers. */
const MOST_CONFIG_BYTES = 32 * 2 ** 20;

export interface InspectionPorts {
  readonly source: CheckpointSource;
  readonly limits: CheckpointLimits;
  /** Opens a listed file for reads anywhere in it. */
  readonly open: (file: ListedFile) => Promise<AsyncDisposable & { readonly readAt: ReadAt }>;
  /** Whether all of it is read, for its digest; what stands at the beginning or the end of a file is read in any case. */
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
  for (const listed of sortedByPath(listing.files)) {
    signal.throwIfAborted();
    await using opened = await open(listed);
    const contents = await contentsOf(listed, opened.readAt);
    // Last: whatever was looked at is what was listed.
    const digest = readsAll ? await digestOf(wholeFile(listed, source.read(listed, signal))) : undefined;
    files.push({ path: listed.path, size: listed.size, digest, contents });
  }
  if (files.length > 1) assertSameListing(uri, listing, await source.list(uri, options));
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return { digest: readsAll ? checkpointDigest(listing.kind, files.flatMap(named)) : undefined, kind: listing.kind, bytes, files };
}

async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<Digest> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) hash.update(chunk);
  return parseDigest(`sha256:${hash.digest('hex')}`);
}

function named({ path, size, digest }: InspectedFile): readonly CheckpointFile[] {
  return digest === undefined ? [] : [{ path, size, digest }];
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
  if (path.endsWith('.onnx')) return { format: 'onnx', ...(await readOnnxModel(address, size, readAt)) };
  if (!/\.(pt|ts|pth|keras)$/.test(path)) return { format: 'other' };
  const located = await readZipDirectory(address, size, readAt);
  const format = zipFormat(new Set(located.map(({ name }) => name)));
  const entries = located.map(({ name, size: unpacked, packed }) => ({ name, size: unpacked, packed }));
  switch (format) {
    case 'torch.save':
    case 'torchscript':
      return { format, entries, ...(await stateOf(address, located, readAt)) };
    case 'keras':
      return { format, entries, ...(await modelOf(address, located, readAt)) };
    case 'zip':
      return { format, entries };
  }
}

async function modelOf(
  file: string,
  entries: readonly LocatedEntry[],
  readAt: ReadAt,
): Promise<{ readonly model: KerasModel } | { readonly unknown: string }> {
  const config = entries.find(({ name }) => name === KERAS_CONFIG);
  if (!config) return { unknown: `it has no ${KERAS_CONFIG}` };
  try {
    return { model: readKerasModel(await readZipEntry(file, config, readAt, MOST_CONFIG_BYTES)) };
  } catch (error) {
    if (error instanceof UnknownKerasModel) return { unknown: error.message };
    throw error;
  }
}

async function stateOf(
  file: string,
  entries: readonly LocatedEntry[],
  readAt: ReadAt,
): Promise<{ readonly tensors: readonly PickledTensor[] } | { readonly unknown: string }> {
  const pickle = entries.find(({ name }) => name.slice(name.indexOf('/') + 1) === 'data.pkl');
  if (!pickle) return { unknown: 'it has no data.pkl' };
  try {
    return { tensors: pickledTensors(await readZipEntry(file, pickle, readAt, MOST_PICKLE_BYTES)) };
  } catch (error) {
    if (error instanceof UnknownPickle) return { unknown: error.message };
    throw error;
  }
}

/** PyTorch puts everything into a directory of a name of its own. */
function zipFormat(names: ReadonlySet<string>): 'torchscript' | 'torch.save' | 'keras' | 'zip' {
  if (names.has(KERAS_CONFIG) && names.has('model.weights.h5')) return 'keras';
  const inner = new Set([...names].map((name) => name.slice(name.indexOf('/') + 1)));
  if (inner.has('constants.pkl')) return 'torchscript';
  return inner.has('data.pkl') ? 'torch.save' : 'zip';
}
