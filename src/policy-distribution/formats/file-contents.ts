import { CONFIG_BOUNDS, readKerasModel, UnknownKerasModel, type KerasModel } from './keras-model.ts';
import type { NamedFile } from './named-file.ts';
import { readOnnxModel, type OnnxModel } from './onnx-model.ts';
import { UnknownPickle } from './pickled-values.ts';
import { readPickledTensors, type PickledTensor } from './pickled-tensors.ts';
import type { ReadAt } from './read-at.ts';
import { readSafetensorsHeader } from './safetensors.ts';
import { readZipDirectory, readZipEntry, type LocatedEntry, type ZipEntry } from './zip-directory.ts';

/** The content of a checkpoint's file, without loading it. */
export type FileContents =
  | { readonly format: 'safetensors'; readonly tensors: readonly InspectedTensor[]; readonly metadata: Readonly<Record<string, string>> }
  | ({ readonly format: 'onnx' } & OnnxModel)
  /** A zip file, described by its entries. */
  | { readonly format: 'zip'; readonly entries: readonly ZipEntry[] }
  | {
      readonly format: 'keras';
      readonly entries: readonly ZipEntry[];
      /** The model that its configuration describes, which is not built; undefined, with a reason, when that is impossible. */
      readonly model?: KerasModel | undefined;
      readonly unknown?: string | undefined;
    }
  | {
      readonly format: 'torch.save' | 'torchscript';
      readonly entries: readonly ZipEntry[];
      /**
       * The tensors that its pickle describes, which is not run; undefined, with a reason, when it contains more than tensors and plain
       * values.
       */
      readonly tensors?: readonly PickledTensor[] | undefined;
      readonly unknown?: string | undefined;
    }
  /** The content is unknown. */
  | { readonly format: 'other' };

export interface InspectedTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: number;
}

/** The pickle of a hundred thousand tensors is smaller. */
const MOST_PICKLE_BYTES = 32 * 2 ** 20;
const KERAS_CONFIG = 'config.json';

/** Called before bytes are unpacked. */
export type Take = (bytes: number) => void;

/**
 * Reads the content of a file, in the format of its suffix.
 *
 * @throws InputError `checkpoint.safetensors`, `checkpoint.onnx`, `checkpoint.zip`
 */
export async function readContents({ path, address, size }: NamedFile, readAt: ReadAt, take: Take): Promise<FileContents> {
  if (path.endsWith('.safetensors')) {
    const { tensors, metadata } = await readSafetensorsHeader(address, size, readAt);
    return {
      format: 'safetensors',
      tensors: tensors.map(({ name, dtype, shape, begin, end }) => ({ name, dtype, shape, bytes: end - begin })),
      metadata,
    };
  }
  if (path.endsWith('.onnx')) return { format: 'onnx', ...(await readOnnxModel(address, size, readAt)) };
  if (!/\.(pt|ts|pth|keras|zip)$/.test(path)) return { format: 'other' };
  const located = await readZipDirectory(address, size, readAt);
  const format = detectZipFormat(new Set(located.map(({ name }) => name)));
  const entries = located.map(({ name, size: unpacked, packed }) => ({ name, size: unpacked, packed }));
  switch (format) {
    case 'torch.save':
    case 'torchscript':
      return { format, entries, ...(await readState(address, located, readAt, take)) };
    case 'keras':
      return { format, entries, ...(await readModel(address, located, readAt, take)) };
    case 'zip':
      return { format, entries };
  }
}

async function readModel(
  file: string,
  entries: readonly LocatedEntry[],
  readAt: ReadAt,
  take: Take,
): Promise<{ readonly model: KerasModel } | { readonly unknown: string }> {
  const config = entries.find(({ name }) => name === KERAS_CONFIG);
  if (!config) return { unknown: `it has no ${KERAS_CONFIG}` };
  take(config.size);
  try {
    return { model: readKerasModel(await readZipEntry(file, config, readAt, CONFIG_BOUNDS.bytes)) };
  } catch (error) {
    if (error instanceof UnknownKerasModel) return { unknown: error.message };
    throw error;
  }
}

async function readState(
  file: string,
  entries: readonly LocatedEntry[],
  readAt: ReadAt,
  take: Take,
): Promise<{ readonly tensors: readonly PickledTensor[] } | { readonly unknown: string }> {
  const pickle = entries.find(({ name }) => name.slice(name.indexOf('/') + 1) === 'data.pkl');
  if (!pickle) return { unknown: 'it has no data.pkl' };
  take(pickle.size);
  try {
    return { tensors: readPickledTensors(await readZipEntry(file, pickle, readAt, MOST_PICKLE_BYTES)) };
  } catch (error) {
    if (error instanceof UnknownPickle) return { unknown: error.message };
    throw error;
  }
}

/** PyTorch puts everything into one directory, whose name varies. */
function detectZipFormat(names: ReadonlySet<string>): 'torchscript' | 'torch.save' | 'keras' | 'zip' {
  if (names.has(KERAS_CONFIG) && names.has('model.weights.h5')) return 'keras';
  const inner = new Set([...names].map((name) => name.slice(name.indexOf('/') + 1)));
  if (inner.has('constants.pkl')) return 'torchscript';
  return inner.has('data.pkl') ? 'torch.save' : 'zip';
}
