import { createHash } from 'node:crypto';
import { InputError } from '../kernel/errors.ts';
import { parseDigest, type Digest } from '../kernel/ids.ts';

/** A policy's weights, named by their content. Two checkpoints with the same digest hold the same bytes under the same paths. */
export interface Checkpoint {
  readonly digest: Digest;
  readonly kind: CheckpointKind;
  /** Sorted by path, in byte order; exactly one for kind `file`, whose path is the file's own name. */
  readonly files: readonly CheckpointFile[];
  readonly labels: CheckpointLabels;
}

export type CheckpointKind = 'file' | 'directory';

export interface CheckpointFile {
  /** Relative, `/` between its parts, without `.`, `..` or empty parts. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** sha256 of the file's bytes. */
  readonly digest: Digest;
  /** The object that it was read from, if that was in a bucket. */
  readonly bucketObject?: BucketObject | undefined;
}

/** The object that had the file's bytes when they were read; it may have changed or be gone by now. */
export interface BucketObject {
  /** `gs://bucket/name` or `s3://bucket/name`. */
  readonly uri: string;
  /** The object's version: a generation or an entity tag. */
  readonly revision: string;
}

/** Says where a checkpoint comes from, for people and comparisons. It does not change the checkpoint's digest. */
export interface CheckpointLabels {
  readonly run?: string;
  /** Training step. */
  readonly version?: number;
}

/** Formats of weights that are known to be data alone, and files beside them that cannot be imported or run. */
const DATA = /\.(safetensors|safetensors\.index\.json|onnx|onnx\.data)$/;

const WEIGHTS = ['.safetensors', '.onnx', '.pt', '.ts', '.pth', '.keras', '.zip'] as const;
/** Messages show this list. */
export const WEIGHTS_ENDINGS: string = WEIGHTS.join(', ');

export function isWeightsFile(path: string): boolean {
  return getFormat(path) !== undefined;
}

/** Whether a file's new name gives it another format than the name that it has. A name without a known ending gives none. */
export function changesFormat(name: string, newName: string): boolean {
  const format = getFormat(newName);
  return format !== undefined && format !== getFormat(name);
}

function getFormat(path: string): string | undefined {
  return WEIGHTS.find((ending) => path.endsWith(ending));
}

/**
 * Whether loading it may run code that came with it: true when it has a file that is not known to be data. A `muster.json` may name an
 * entry.
 */
export function mayBringCode({ files }: Pick<Checkpoint, 'files'>): boolean {
  return !files.every(({ path }) => DATA.test(path));
}

/** A file's checkpoint has the file's digest; a directory's has the digest of its manifest. */
export function digestCheckpoint(kind: CheckpointKind, files: readonly CheckpointFile[]): Digest {
  switch (kind) {
    case 'directory':
      return parseDigest(`sha256:${createHash('sha256').update(formatManifest(files)).digest('hex')}`);
    case 'file': {
      const [file, ...rest] = files;
      if (file === undefined || rest.length > 0) throw new RangeError(`a checkpoint of kind "file" has one file, got ${files.length}`);
      return file.digest;
    }
  }
}

/**
 * Formats the manifest of a directory: the lines `<sha256 hex>  <path>\n`, sorted by path in byte order. Without Muster its sha256 is: `find . -type
 * f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum -- | sha256sum`.
 */
export function formatManifest(files: readonly Pick<CheckpointFile, 'path' | 'digest'>[]): string {
  return sortByPath(files)
    .map(({ path, digest }) => `${getDigestHex(digest)}  ${path}\n`)
    .join('');
}

/** Sorts by the byte order of the UTF-8 form, which differs from the order of JavaScript strings beyond U+FFFF. */
export function sortByPath<Item extends { readonly path: string }>(items: readonly Item[]): readonly Item[] {
  return items
    .map((item) => ({ item, bytes: Buffer.from(item.path) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ item }) => item);
}

export function getDigestHex(digest: Digest): string {
  return digest.slice('sha256:'.length);
}

const MAX_PATH_BYTES = 1024;

/**
 * Control characters and backslashes would let two different directories have the same manifest (and `sha256sum` prints such names in
 * another form); U+FFFD replaces bytes that are no UTF-8.
 */
const UNSAFE_IN_PATH = /[\p{Cc}\\\ufffd]/u;

/**
 * Paths become file names in a sandbox's inbox, so one that could leave it is refused.
 *
 * @throws InputError `checkpoint.path`
 */
export function assertCheckpointPath(path: string): void {
  const parts = path.split('/');
  const reason = UNSAFE_IN_PATH.test(path)
    ? 'has a control character, a backslash or bytes that are not UTF-8 in it'
    : parts.some((part) => part === '' || part === '.' || part === '..')
      ? 'is not a relative path inside of the checkpoint'
      : Buffer.byteLength(path) > MAX_PATH_BYTES
        ? `is longer than ${MAX_PATH_BYTES} bytes`
        : undefined;
  if (reason === undefined) return;
  throw new InputError('checkpoint.path', `checkpoint: the path ${JSON.stringify(path)} ${reason}; rename the file`);
}
