import { InputError } from '../../kernel/errors.ts';
import { JsonProblem, parseText, type JsonBounds } from '../../kernel/json-bounds.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import { findDuplicateKey } from './json-duplicates.ts';
import { readJsonText } from './json-in-file.ts';
import { getElementBits } from './safetensors-dtype.ts';
import type { ReadAt } from './read-at.ts';
import { isMapping } from '../../kernel/documents/path.ts';

/**
 * The header of a safetensors file: 8 bytes of little-endian length, that many bytes of JSON, then the tensors' raw bytes.
 * Nothing in it is trusted: all of it is checked against the size of the file first.
 */
export interface SafetensorsHeader {
  /** Tensors in the order of their bytes in the file. */
  readonly tensors: readonly Tensor[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Position of the first tensor's bytes in the file. */
  readonly dataStart: number;
}

export interface Tensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Bytes [begin, end) from `dataStart`. */
  readonly begin: number;
  readonly end: number;
}

/** The bounds allow some hundred thousand tensors: an entry has seven values or more, three levels deep. */
export const HEADER_BOUNDS: JsonBounds = { bytes: 32 * 2 ** 20, depth: 8, values: 1_000_000 };
const LENGTH_BYTES = 8;

/** @throws InputError `checkpoint.safetensors`, naming the file, the tensor, what was found and what was expected. */
export async function readSafetensorsHeader(file: string, size: number, readAt: ReadAt): Promise<SafetensorsHeader> {
  const beginning = await readAt(0, LENGTH_BYTES + 1);
  const length = readHeaderLength(file, size, beginning);
  const first = length > 0 ? beginning[LENGTH_BYTES] : undefined;
  if (first !== '{'.charCodeAt(0))
    throw createRefusalError(file, `the header begins with byte ${first ?? 'none'}`, 'a JSON object, beginning with "{"');
  const json = await readHeaderJson(file, length, readAt);
  const dataStart = LENGTH_BYTES + length;
  const { __metadata__: metadata, ...entries } = json;
  const tensors = Object.entries(entries).map(([name, entry]) => parseTensor(file, name, entry));
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end);
  assertContiguous(file, tensors, size - dataStart);
  return { tensors, metadata: parseMetadata(file, metadata), dataStart };
}

function readHeaderLength(file: string, size: number, bytes: Uint8Array): number {
  if (size < LENGTH_BYTES || bytes.length < LENGTH_BYTES) {
    throw createRefusalError(
      file,
      `the file has ${size} bytes`,
      `at least ${LENGTH_BYTES} for the length of the header; it looks truncated`,
    );
  }
  const length = new DataView(bytes.buffer, bytes.byteOffset, LENGTH_BYTES).getBigUint64(0, true);
  if (length > BigInt(HEADER_BOUNDS.bytes))
    throw createRefusalError(file, `the header claims ${length} bytes`, `at most ${formatExactBytes(HEADER_BOUNDS.bytes)}`);
  if (length > BigInt(size - LENGTH_BYTES)) {
    throw createRefusalError(
      file,
      `the header claims ${length} bytes`,
      `at most the ${size - LENGTH_BYTES} that follow in the file; it looks truncated`,
    );
  }
  return Number(length);
}

async function readHeaderJson(file: string, length: number, readAt: ReadAt): Promise<Record<string, unknown>> {
  try {
    const text = await readJsonText(readAt, LENGTH_BYTES, length, HEADER_BOUNDS);
    const value = parseText(text);
    const duplicate = findDuplicateKey(text);
    if (duplicate !== undefined)
      throw createRefusalError(file, `the header has ${JSON.stringify(shorten(duplicate))} twice`, 'every name once');
    if (isMapping(value)) return value;
  } catch (error) {
    throw error instanceof JsonProblem ? createRefusalError(file, `the header: ${error.found}`, error.expected, error) : error;
  }
  throw createRefusalError(file, 'the header is not a JSON object', 'a JSON object');
}

function parseTensor(file: string, name: string, entry: unknown): Tensor {
  const where = `${file}, tensor ${JSON.stringify(shorten(name))}`;
  if (!isMapping(entry)) throw createRefusalError(where, `found ${describeValue(entry)}`, 'an object with dtype, shape and data_offsets');
  const { dtype, shape, data_offsets: offsets } = entry;
  const bits = typeof dtype === 'string' ? getElementBits(dtype) : undefined;
  if (typeof dtype !== 'string' || bits === undefined)
    throw createRefusalError(where, `dtype ${describeValue(dtype)}`, 'a dtype of the format, such as "F32"');
  if (!isSizes(shape)) throw createRefusalError(where, `shape ${describeValue(shape)}`, 'a list of whole numbers from 0 on');
  if (!isSizes(offsets) || offsets.length !== 2)
    throw createRefusalError(where, `data_offsets ${describeValue(offsets)}`, 'two whole numbers, [begin, end]');
  const [begin = 0, end = 0] = offsets;
  assertSpan(where, dtype, bits, shape, end - begin);
  return { name, dtype, shape, begin, end };
}

function assertSpan(where: string, dtype: string, bits: number, shape: readonly number[], span: number): void {
  let totalBits = bits;
  for (const size of shape) {
    totalBits *= size;
    if (totalBits > Number.MAX_SAFE_INTEGER)
      throw createRefusalError(where, `shape ${describeValue(shape)} of ${dtype} is too large for any file`, 'a shape that fits its bytes');
  }
  if (totalBits % 8 !== 0)
    throw createRefusalError(where, `shape ${describeValue(shape)} of ${dtype} ends within a byte`, 'a whole number of bytes');
  if (totalBits / 8 !== span)
    throw createRefusalError(where, `data_offsets span ${span} bytes`, `${totalBits / 8} for shape ${describeValue(shape)} of ${dtype}`);
}

/** @param tensors sorted by their first byte. */
function assertContiguous(file: string, tensors: readonly Tensor[], dataBytes: number): void {
  let covered = 0;
  for (const { name, begin, end } of tensors) {
    if (begin !== covered) {
      const problem = begin < covered ? 'overlaps the tensor before it' : 'leaves a gap before it';
      throw createRefusalError(
        `${file}, tensor ${JSON.stringify(shorten(name))}`,
        `it begins at byte ${begin} and ${problem}`,
        `to begin at byte ${covered}`,
      );
    }
    covered = end;
  }
  if (covered === dataBytes) return;
  const guess = covered > dataBytes ? '; the file looks truncated' : '';
  throw createRefusalError(file, `${dataBytes} bytes follow the header`, `the ${covered} that its tensors fill${guess}`);
}

function parseMetadata(file: string, value: unknown): Readonly<Record<string, string>> {
  const metadata: [string, string][] = [];
  if (value === undefined) return {};
  if (!isMapping(value)) throw createRefusalError(file, `__metadata__ is ${describeValue(value)}`, 'an object of strings');
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string')
      throw createRefusalError(file, `__metadata__ has ${describeValue(text)} as ${JSON.stringify(shorten(key))}`, 'a string');
    metadata.push([key, text]);
  }
  return Object.fromEntries(metadata);
}

function createRefusalError(where: string, found: string, expected: string, cause?: unknown): InputError {
  return new InputError('checkpoint.safetensors', `checkpoint: ${where}: ${found}; expected ${expected}`, { cause });
}

function isSizes(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

function describeValue(value: unknown): string {
  return shorten(JSON.stringify(value) ?? 'nothing');
}

function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
