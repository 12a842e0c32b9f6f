import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import { InputError } from '../../kernel/errors.ts';
import { type Digest, parseDigest } from '../../kernel/ids.ts';
import { markLinkedWhiteouts } from './linked-whiteouts.ts';

const GZIP = Buffer.from('1f8b', 'hex');
const ZSTD = Buffer.from('28b52ffd', 'hex');

export interface ReadArchive {
  /** The digest of the whole archive, uncompressed. */
  readonly digest: Digest;
}

/**
 * Reads a tar archive entry by entry, compressed by gzip or zstd or not at all. Only what `take` holds of an entry is in memory.
 *
 * @param take has to read the entry to its end. @param most bytes, uncompressed. @param where names the archive for messages. @throws InputError
 * `image.invalid` for anything but such an archive, or for a larger one; the errors of `take`.
 */
export async function readTar(
  where: string,
  source: Readable,
  most: number,
  take: (entry: ReadEntry) => Promise<void>,
  signal: AbortSignal,
): Promise<ReadArchive> {
  const hash = createHash('sha256');
  const parser = new Parser({ strict: true });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  parser.on('error', failed.reject);
  // Entries without content arrive at once, even while an earlier one is being read.
  let taken = Promise.resolve();
  let last: ReadEntry | undefined;
  let isOver = false;
  parser.on('entry', (entry: ReadEntry) => {
    if (isOver) {
      entry.resume();
      return;
    }
    last = entry;
    taken = taken.then(() => take(entry));
    taken.catch(failed.reject);
  });
  const write = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) if (!parser.write(chunk)) await Promise.race([once(parser, 'drain'), failed.promise]);
    const ended = once(parser, 'end');
    parser.end();
    await Promise.race([ended, failed.promise]);
  };
  try {
    await pipeline(source, await decompressLayer(source), createMeter(where, most, hash), markLinkedWhiteouts, write, { signal });
    await taken;
  } catch (error) {
    // Otherwise the entry's reader would wait for the rest of it, and then take entries that the parser still holds, while the caller removes what was unpacked.
    isOver = true;
    last?.end();
    await taken.catch(() => undefined);
    if (error instanceof InputError || signal.aborted || !isFormatError(error)) throw error;
    throw new InputError('image.invalid', `${where}: ${error.message}; expected a whole tar archive`, { cause: error });
  }
  return { digest: parseDigest(`sha256:${hash.digest('hex')}`) };
}

function createMeter(where: string, most: number, hash: Hash): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      hash.update(chunk);
      if (bytes > most) done(createTooLargeError(where, most));
      else done(null, chunk);
    },
  });
}

export function createTooLargeError(where: string, most: number): InputError {
  return new InputError('image.too-large', `${where}: has more than ${most} bytes, the most that is unpacked`);
}

function isFormatError(error: unknown): error is Error {
  const code: unknown = error instanceof Error ? (Reflect.get(error, 'code') ?? Reflect.get(error, 'tarCode')) : undefined;
  return typeof code === 'string' && /^(Z_|ZSTD_|TAR_|ERR_ZSTD|ERR_ZLIB)/.test(code);
}

/** Returns a stream that undoes the compression that the first bytes show. */
async function decompressLayer(source: Readable): Promise<Transform> {
  await once(source, 'readable');
  const first: unknown = source.read();
  if (!Buffer.isBuffer(first)) return new PassThrough();
  source.unshift(first);
  if (first.subarray(0, 2).equals(GZIP)) return createGunzip();
  return first.subarray(0, 4).equals(ZSTD) ? createZstdDecompress() : new PassThrough();
}
