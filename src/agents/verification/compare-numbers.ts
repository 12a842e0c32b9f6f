import { JsonProblem, parseJson } from '../../kernel/json-bounds.ts';
import type { CompareMode } from '../tasks/muster-schema.ts';
import { toDifference, EQUAL, OUTPUT_JSON, type Comparison } from './comparison.ts';

type NumbersMode = Extract<CompareMode, { readonly mode: 'numbers' }>;
type Dtype = NumbersMode['dtype'];
type Value = number | bigint;

/** An output that does not have the declared form. */
class FormProblem extends Error {
  override readonly name = 'FormProblem';
}

/** The deepest nesting of a declared shape. */
const MOST_DIMENSIONS = 8;
const INTEGERS: Readonly<Partial<Record<Dtype, readonly [bigint, bigint]>>> = {
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint8: [0n, 255n],
};
const BYTES: Readonly<Record<Dtype, number>> = { float64: 8, float32: 4, float16: 2, int64: 8, int32: 4, uint8: 1 };
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const NOT_FINITE: ReadonlyMap<string, number> = new Map([
  ['nan', Number.NaN],
  ['inf', Infinity],
  ['infinity', Infinity],
]);

/**
 * Compares number by number: `|got − expected| ≤ absolute + relative · |expected|`. NaN equals nothing, −0 equals 0, an infinity equals itself. Whole
 * numbers without a tolerance are compared exactly, also beyond 2⁵³.
 *
 * @throws RangeError when the golden model's output does not have the declared form.
 */
export function compareNumbers(mode: NumbersMode, expected: Uint8Array, got: Uint8Array): Comparison {
  const wanted = parseGoldenNumbers(mode, expected);
  let at = 0;
  try {
    for (const found of readNumbers(mode, got)) {
      const want = wanted[at];
      if (want === undefined) return toDifference(`it has more than the ${wanted.length} numbers that are expected`);
      if (!isClose(mode, want, found)) return toDifference(`number ${at + 1}: expected ${want}, got ${found}`);
      at += 1;
    }
  } catch (error) {
    if (error instanceof FormProblem || error instanceof JsonProblem) return toDifference(error.message);
    throw error;
  }
  return at === wanted.length ? EQUAL : toDifference(`it has ${at} numbers; expected ${wanted.length}`);
}

function parseGoldenNumbers(mode: NumbersMode, expected: Uint8Array): readonly Value[] {
  try {
    const wanted = [...readNumbers(mode, expected)];
    const size = mode.shape?.reduce((product, length) => product * length, 1);
    if (size === undefined || size === wanted.length) return wanted;
    throw new FormProblem(`it has ${wanted.length} numbers; the declared shape has ${size}`);
  } catch (error) {
    if (!(error instanceof FormProblem || error instanceof JsonProblem)) throw error;
    throw new RangeError(`the golden model's output: ${error.message}`, { cause: error });
  }
}

function isClose({ tolerance: { absolute, relative } }: NumbersMode, want: Value, got: Value): boolean {
  if (absolute === 0 && relative === 0) return want === got;
  const [wanted, found] = [Number(want), Number(got)];
  if (!Number.isFinite(wanted) || !Number.isFinite(found)) return wanted === found;
  return Math.abs(found - wanted) <= absolute + relative * Math.abs(wanted);
}

function readNumbers(mode: NumbersMode, bytes: Uint8Array): Iterable<Value> {
  switch (mode.encoding) {
    case 'raw':
      return readRawNumbers(mode.dtype, bytes);
    case 'json':
      return readJsonNumbers(mode, parseJson(bytes, OUTPUT_JSON), 0);
    case 'text':
      return readTextNumbers(mode.dtype, bytes);
  }
}

function* readRawNumbers(dtype: Dtype, bytes: Uint8Array): Generator<Value> {
  const size = BYTES[dtype];
  if (bytes.length % size !== 0) throw new FormProblem(`it has ${bytes.length} bytes; expected a multiple of ${size} for ${dtype}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; at += size) yield readRawNumber(dtype, view, at);
}

function readRawNumber(dtype: Dtype, view: DataView, at: number): Value {
  switch (dtype) {
    case 'float64':
      return view.getFloat64(at, true);
    case 'float32':
      return view.getFloat32(at, true);
    case 'float16':
      return view.getFloat16(at, true);
    case 'int64':
      return view.getBigInt64(at, true);
    case 'int32':
      return BigInt(view.getInt32(at, true));
    case 'uint8':
      return BigInt(view.getUint8(at));
  }
}

function* readTextNumbers(dtype: Dtype, bytes: Uint8Array): Generator<Value> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  for (const [token] of text.matchAll(/[^ \t\r\n]+/g)) yield parseNumber(dtype, token);
}

function* readJsonNumbers(mode: NumbersMode, value: unknown, depth: number): Generator<Value> {
  const { shape, dtype } = mode;
  if (Array.isArray(value)) {
    const length = shape?.[depth];
    if (depth >= (shape?.length ?? MOST_DIMENSIONS)) throw new FormProblem(`its lists are deeper than ${shape?.length ?? MOST_DIMENSIONS}`);
    if (length !== undefined && value.length !== length) throw new FormProblem(`a list has ${value.length} items; expected ${length}`);
    for (const item of value) yield* readJsonNumbers(mode, item, depth + 1);
    return;
  }
  if (shape !== undefined && depth < shape.length) throw new FormProblem(`a list of ${shape[depth]} items is missing`);
  if (typeof value !== 'number') throw new FormProblem(`expected a number, got ${JSON.stringify(value)?.slice(0, 80)}`);
  yield parseNumber(dtype, String(value));
}

function parseNumber(dtype: Dtype, token: string): Value {
  const range = INTEGERS[dtype];
  if (range !== undefined) {
    if (!/^[+-]?\d{1,20}$/.test(token)) throw new FormProblem(`expected ${dtype}, got "${token.slice(0, 80)}"`);
    const whole = BigInt(token.replace('+', ''));
    if (whole >= range[0] && whole <= range[1]) return whole;
    throw new FormProblem(`expected ${dtype}, got ${token}`);
  }
  const special = NOT_FINITE.get(token.toLowerCase().replace(/^[+-]/, ''));
  if (special !== undefined) return token.startsWith('-') ? -special : special;
  if (token.length <= 400 && DECIMAL.test(token)) return Number(token);
  throw new FormProblem(`expected a number, got "${token.slice(0, 80)}"`);
}
