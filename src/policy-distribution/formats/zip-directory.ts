import { inflateRawSync } from 'node:zlib';
import { InputError, getMessage } from '../../kernel/errors.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import type { ReadAt } from './read-at.ts';

/**
 * The central directory of a ZIP archive, as PyTorch and Keras write them (APPNOTE.TXT 6.3.10, sections 4.3.12 to 4.3.16, with ZIP64). Nothing in it
 * is trusted, and nothing is unpacked.
 */
export interface ZipEntry {
  readonly name: string;
  /** Bytes when it is unpacked. */
  readonly size: number;
  /** Bytes in the archive. */
  readonly packed: number;
}

/** An entry that can be read. */
export interface LocatedEntry extends ZipEntry {
  /** The position of the header before its bytes. */
  readonly offset: number;
  readonly method: number;
}

const END = { signature: 0x06054b50, bytes: 22 };
const END64_LOCATOR = { signature: 0x07064b50, bytes: 20 };
const END64 = { signature: 0x06064b50, bytes: 56 };
const ENTRY = { signature: 0x02014b50, bytes: 46 };
const MOST_COMMENT_BYTES = 0xffff;
/** The limit allows some hundred thousand entries, more than any checkpoint has. They are read at once. */
const MOST_DIRECTORY_BYTES = 32 * 1024 * 1024;
const MOST_ENTRIES = 200_000;
const MOST_NAME_BYTES = 4096;
/** Deflate cannot shrink data more, and a header comes before the data. */
const MOST_RATIO = 1032;
const PACKED_OVERHEAD_BYTES = 16;
const ZIP64_FIELD = 1;
const IN_ZIP64 = 0xffffffff;
const LOCAL = { signature: 0x04034b50, bytes: 30 };
const STORED = 0;
const DEFLATED = 8;

/** @throws InputError `checkpoint.zip`, naming the file, what was found and what was expected. */
export async function readZipDirectory(file: string, size: number, readAt: ReadAt): Promise<readonly LocatedEntry[]> {
  const { offset, length } = await readDirectoryPlace(file, size, readAt);
  if (length > MOST_DIRECTORY_BYTES)
    throw createRefusalError(file, `its directory has ${formatExactBytes(length)}`, `at most ${formatExactBytes(MOST_DIRECTORY_BYTES)}`);
  if (offset + length > size)
    throw createRefusalError(file, `its directory ends at byte ${offset + length}`, `it to end within the ${size} of the file`);
  return parseDirectory(file, createView(await readAt(offset, length)));
}

/**
 * Reads an entry's bytes, unpacked. @throws InputError `checkpoint.zip` also when it has more than `mostBytes`, or is packed in another way than
 * deflated.
 */
export async function readZipEntry(file: string, entry: LocatedEntry, readAt: ReadAt, mostBytes: number): Promise<Uint8Array> {
  const { name, size, packed, offset, method } = entry;
  if (Math.max(size, packed) > mostBytes)
    throw createRefusalError(file, `its entry ${name} has ${formatExactBytes(size)}`, `at most ${formatExactBytes(mostBytes)}`);
  const isPossible = method === STORED ? size === packed : size <= MOST_RATIO * packed + PACKED_OVERHEAD_BYTES;
  if (!isPossible)
    throw createRefusalError(file, `its entry ${name} has ${size} bytes packed into ${packed}`, `what its method ${method} can do`);
  const head = createView(await readAt(offset, LOCAL.bytes));
  if (head.byteLength < LOCAL.bytes || head.getUint32(0, true) !== LOCAL.signature)
    throw createRefusalError(file, `its entry ${name} does not begin at byte ${offset}`, 'it where the directory says');
  const bytes = await readAt(offset + LOCAL.bytes + head.getUint16(26, true) + head.getUint16(28, true), packed);
  if (method === STORED) return bytes;
  if (method !== DEFLATED)
    throw createRefusalError(file, `its entry ${name} is packed by method ${method}`, 'one that is stored or deflated');
  try {
    return inflateRawSync(bytes, { maxOutputLength: Math.max(1, size) });
  } catch (error) {
    throw createRefusalError(file, `its entry ${name} cannot be unpacked (${getMessage(error)})`, `${size} bytes`);
  }
}

interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

async function readDirectoryPlace(file: string, size: number, readAt: ReadAt): Promise<ByteRange> {
  const tailAt = Math.max(0, size - END.bytes - MOST_COMMENT_BYTES - END64_LOCATOR.bytes);
  const tail = createView(await readAt(tailAt, size - tailAt));
  for (let at = tail.byteLength - END.bytes; at >= 0; at -= 1) {
    if (tail.getUint32(at, true) !== END.signature || at + END.bytes + tail.getUint16(at + 20, true) !== tail.byteLength) continue;
    const locatorAt = at - END64_LOCATOR.bytes;
    if (locatorAt >= 0 && tail.getUint32(locatorAt, true) === END64_LOCATOR.signature)
      return readZip64Offset(file, toSafeNumber(file, tail.getBigUint64(locatorAt + 8, true)), size, readAt);
    return { offset: tail.getUint32(at + 16, true), length: tail.getUint32(at + 12, true) };
  }
  throw createRefusalError(file, 'it has no end of a directory', 'a ZIP archive; it looks truncated');
}

async function readZip64Offset(file: string, at: number, size: number, readAt: ReadAt): Promise<ByteRange> {
  if (at + END64.bytes > size)
    throw createRefusalError(file, `its ZIP64 record is said to begin at byte ${at}`, `a place within the ${size} of the file`);
  const record = createView(await readAt(at, END64.bytes));
  if (record.getUint32(0, true) !== END64.signature)
    throw createRefusalError(file, `no ZIP64 record begins at byte ${at}`, 'one, as its locator says');
  return { offset: toSafeNumber(file, record.getBigUint64(48, true)), length: toSafeNumber(file, record.getBigUint64(40, true)) };
}

function parseDirectory(file: string, directory: DataView): readonly LocatedEntry[] {
  const entries: LocatedEntry[] = [];
  for (let at = 0; at < directory.byteLength;) {
    const left = directory.byteLength - at;
    if (left < ENTRY.bytes || directory.getUint32(at, true) !== ENTRY.signature)
      throw createRefusalError(file, `no entry begins at byte ${at} of its directory`, 'one entry after the other');
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => directory.getUint16(at + field, true));
    if ((nameBytes ?? 0) > MOST_NAME_BYTES)
      throw createRefusalError(file, `an entry has a name of ${nameBytes} bytes`, `at most ${MOST_NAME_BYTES}`);
    if (entries.length === MOST_ENTRIES)
      throw createRefusalError(file, `its directory has more than ${MOST_ENTRIES} entries`, 'at most that');
    const length = ENTRY.bytes + (nameBytes ?? 0) + (extraBytes ?? 0) + (commentBytes ?? 0);
    if (length > left)
      throw createRefusalError(file, `an entry of its directory claims ${length} bytes`, `at most the ${left} that are left`);
    const nameAt = at + ENTRY.bytes;
    const extraAt = nameAt + (nameBytes ?? 0);
    const extra = new DataView(directory.buffer, directory.byteOffset + extraAt, extraBytes);
    const name = new TextDecoder().decode(new Uint8Array(directory.buffer, directory.byteOffset + nameAt, nameBytes));
    const [sizeField, packedField, offsetField] = [24, 20, 42].map((field) => directory.getUint32(at + field, true));
    const numbers = readNumbers(file, [sizeField ?? 0, packedField ?? 0, offsetField ?? 0], extra);
    entries.push({ name, ...numbers, method: directory.getUint16(at + 10, true) });
    at += length;
  }
  return entries;
}

/** Numbers that do not fit into 32 bits are in an extra field, in this order. */
function readNumbers(file: string, written: readonly number[], extra: DataView): Pick<LocatedEntry, 'size' | 'packed' | 'offset'> {
  const large = written.filter((value) => value === IN_ZIP64).length;
  if (large === 0) return toSizes(written);
  for (let at = 0; at + 4 <= extra.byteLength; at += 4 + extra.getUint16(at + 2, true)) {
    if (extra.getUint16(at, true) !== ZIP64_FIELD || at + 4 + 8 * large > extra.byteLength) continue;
    const values = Array.from({ length: large }, (_, i) => toSafeNumber(file, extra.getBigUint64(at + 4 + 8 * i, true)));
    return toSizes(written.map((value) => (value === IN_ZIP64 ? (values.shift() ?? value) : value)));
  }
  throw createRefusalError(file, 'an entry of its directory has no size', 'a ZIP64 field with it');
}

function toSizes([size = 0, packed = 0, offset = 0]: readonly number[]): Pick<LocatedEntry, 'size' | 'packed' | 'offset'> {
  return { size, packed, offset };
}

function toSafeNumber(file: string, value: bigint): number {
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  throw createRefusalError(file, `its directory claims ${value} bytes`, 'sizes that files have');
}

function createView(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function createRefusalError(file: string, found: string, expected: string): InputError {
  return new InputError('checkpoint.zip', `checkpoint: ${file}: ${found}; expected ${expected}`);
}
