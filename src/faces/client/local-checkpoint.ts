import { createHash } from 'node:crypto';
import { InputError } from '../../kernel/errors.ts';
import { digestBytes } from '../../kernel/canonical-json.ts';
import { parseDigest, type Digest } from '../../kernel/ids.ts';
import { formatManifest, sortByPath } from '../../policy-distribution/checkpoint.ts';
import type { CheckpointListing, CheckpointSource, ListedFile } from '../../policy-distribution/checkpoint-source.ts';

/** A file as it was when it was read. */
export interface LocalFile extends ListedFile {
  readonly digest: Digest;
}

/** A checkpoint of this machine, named by its content. */
export interface LocalCheckpoint {
  readonly digest: Digest;
  /** Sorted by path, in byte order. */
  readonly files: readonly LocalFile[];
  /** A directory's manifest; undefined for a file. */
  readonly manifest: Uint8Array | undefined;
}

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** Called with the bytes that were read so far, and their total. */
  readonly onRead: (bytes: number, all: number) => void;
}

/** Servers accept fewer files by default. The limit makes a wrong path (`/`) cost little. */
const MOST_FILES = 100_000;

/** Reads every file of the checkpoint once. @throws InputError `checkpoint.empty`, and as the source does. */
export async function readCheckpoint(source: CheckpointSource, path: string, { signal, onRead }: ReadOptions): Promise<LocalCheckpoint> {
  const listing = await source.list(path, { signal, maxFiles: MOST_FILES });
  const all = listing.files.reduce((sum, { size }) => sum + size, 0);
  let read = 0;
  const files: LocalFile[] = [];
  for (const file of listing.files) {
    const hash = createHash('sha256');
    for await (const chunk of source.read(file, signal)) {
      hash.update(chunk);
      onRead((read += chunk.length), all);
    }
    files.push({ ...file, digest: parseDigest(`sha256:${hash.digest('hex')}`) });
  }
  return createLocalCheckpoint(path, listing.kind, files);
}

function createLocalCheckpoint(path: string, kind: CheckpointListing['kind'], files: readonly LocalFile[]): LocalCheckpoint {
  const [first] = files;
  if (first === undefined)
    throw new InputError('checkpoint.empty', `checkpoint: ${path} has no files in it; expected the policy's weights`);
  switch (kind) {
    case 'file':
      return { digest: first.digest, files: [first], manifest: undefined };
    case 'directory': {
      const manifest = Buffer.from(formatManifest(files));
      return { digest: digestBytes(manifest), files: sortByPath(files), manifest };
    }
  }
}
