import { InputError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import { assertSize } from '../inspection/checkpoint-checks.ts';
import type { ContentStore } from './content-store.ts';
import type { StoredObject } from '../files/stored-object.ts';
import { MalformedDelta, type DeltaIndex } from '../delta/delta-format.ts';
import { DeltaFile, readIndex } from './delta-reader.ts';
import { FileStretches } from '../files/file-stretches.ts';
import type { StoredContents } from './stored-contents.ts';
import { untrustedFiles } from '../inspection/untrusted-files.ts';
import type { UsableFiles } from '../files/usable-files.ts';

/** A delta that a caller has sent in place of a file. Its content is untrusted. */
export interface SentDelta {
  /** Its path. No process writes to it any more. */
  readonly path: string;
  /** The name of the file that the delta encodes. */
  readonly name: string;
  readonly expected: Digest;
  /** The largest size of that file. */
  readonly maxBytes: number;
  /** The files that may be the delta's base. */
  readonly usable: UsableFiles;
}

/**
 * Rebuilds the file that a delta encodes and stores it, when it has its digest.
 *
 * @throws InputError `checkpoint.delta`, `checkpoint.base` when its base is not stored, or not for the sender, `checkpoint.digest`,
 * `checkpoint.too-large`, `checkpoint.safetensors`; InfrastructureError `store.full`, `store.unusable`; the signal's reason.
 */
export async function keepDelta(
  { path, name, expected, maxBytes, usable }: SentDelta,
  plain: ContentStore,
  contents: StoredContents,
  signal: AbortSignal,
): Promise<StoredObject> {
  await using delta = await FileStretches.open(path);
  if (!delta) throw createRefusalError(expected, 'it is gone');
  try {
    const index = await readIndex(delta, `the delta of ${expected}`);
    if (index.file.digest !== expected) throw createRefusalError(expected, `it tells ${index.file.digest}`);
    assertSize(expected, index.file.size, maxBytes);
    await using base = await openBase(index, contents, usable);
    const file = new DeltaFile(delta, index, base);
    return await plain.write(stopOnAbort(signal, file.readPieces()), file.size, async (readAt, size, found) => {
      if (found !== expected)
        throw new InputError(
          'checkpoint.digest',
          `checkpoint: the decoded delta has the digest ${found}; expected ${expected}. Send the whole file`,
        );
      await untrustedFiles.read('check', { path: name, address: name, size }, readAt);
    });
  } catch (error) {
    throw error instanceof MalformedDelta ? createRefusalError(expected, error.message, error) : error;
  }
}

async function openBase({ base }: DeltaIndex, contents: StoredContents, usable: UsableFiles): Promise<FileStretches> {
  // A base that the sender may not use is not looked up, because the time of the look would reveal that it is stored.
  const object = (await usable([base.digest])).has(base.digest) ? await contents.find(base.digest) : undefined;
  const file = object && (await FileStretches.open(object.hostPath));
  if (file) return file;
  throw new InputError('checkpoint.base', `checkpoint: ${base.digest}, the base of the delta, is not on the server; send the whole file`);
}

async function* stopOnAbort(signal: AbortSignal, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    signal.throwIfAborted();
    yield piece;
  }
}

function createRefusalError(expected: Digest, problem: string, cause?: unknown): InputError {
  return new InputError('checkpoint.delta', `checkpoint: the sent bytes are not a delta of ${expected}: ${problem}; send the whole file`, {
    cause,
  });
}
