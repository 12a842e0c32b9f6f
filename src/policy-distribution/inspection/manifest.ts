import { InputError } from '../../kernel/errors.ts';
import { isDigest, type Digest } from '../../kernel/ids.ts';
import { getDigestHex } from '../checkpoint.ts';
import type { ReadAt } from '../formats/read-at.ts';

/** The text whose SHA-256 names a directory: what `sha256sum` prints of its files, sorted by path in byte order. */

export interface ManifestEntry {
  readonly path: string;
  readonly digest: Digest;
}

const LINE = /^(?<hex>[0-9a-f]{64}) {2}(?<path>.+)$/;
/** This number of names is enough to show what is wrong. */
const MISSING_SHOWN = 20;

export interface ManifestOrder {
  /** It is shown to people. */
  readonly address: string;
  /** Bytes. */
  readonly size: number;
  readonly maxFiles: number;
}

/** Read at once. */
const PIECE_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;

/** @throws InputError `checkpoint.manifest`, `checkpoint.too-many-files` */
export async function readManifest({ address, size, maxFiles }: ManifestOrder, readAt: ReadAt): Promise<readonly ManifestEntry[]> {
  const pieces: Uint8Array[] = [];
  let lines = 0;
  for (let at = 0; at < size; at += PIECE_BYTES) {
    const piece = await readAt(at, Math.min(PIECE_BYTES, size - at));
    for (const byte of piece) if (byte === LINE_FEED) lines += 1;
    if (lines > maxFiles) throw createTooManyFilesError(address, maxFiles);
    pieces.push(piece);
  }
  return listEntries(Buffer.concat(pieces).toString());
}

function listEntries(text: string): readonly ManifestEntry[] {
  if (!text.endsWith('\n')) throw createMalformedError('its last line does not end', 'a line feed after each line');
  return text
    .slice(0, -1)
    .split('\n')
    .map((line, i) => {
      const { hex, path } = LINE.exec(line)?.groups ?? {};
      const digest = `sha256:${hex}`;
      if (path === undefined || !isDigest(digest))
        throw createMalformedError(`line ${i + 1} is ${JSON.stringify(line.slice(0, 200))}`, '"<sha256 hex>  <path>"');
      return { path, digest };
    });
}

export function createIncompleteError(checkpoint: Digest, missing: readonly Digest[], all: number): InputError {
  const shown = missing.slice(0, MISSING_SHOWN).map(getDigestHex);
  const more = missing.length > shown.length ? ', …' : '';
  return new InputError(
    'checkpoint.incomplete',
    `checkpoint: ${missing.length} of the ${all} files of ${checkpoint} are not here; send them first: ${shown.join(', ')}${more}`,
  );
}

function createTooManyFilesError(address: string, maxFiles: number): InputError {
  const remedy = 'send fewer files, or raise checkpoints.maxFiles';
  return new InputError('checkpoint.too-many-files', `checkpoint: the manifest of ${address} names more than ${maxFiles} files; ${remedy}`);
}

function createMalformedError(found: string, expected: string): InputError {
  return new InputError(
    'checkpoint.manifest',
    `checkpoint: the manifest is malformed: ${found}; expected ${expected}, as sha256sum prints it`,
  );
}
