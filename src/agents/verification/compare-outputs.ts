import { formatCanonicalJson } from '../../kernel/canonical-json.ts';
import { JsonProblem, parseJson } from '../../kernel/json-bounds.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import type { CompareMode } from '../tasks/muster-schema.ts';
import { compareNumbers } from './compare-numbers.ts';
import { toDifference, EQUAL, OUTPUT_JSON, type Comparison } from './comparison.ts';

/** The largest number of characters of a text in a message. */
const SHOWN = 80;

/**
 * Whether a candidate's output is what the golden model wrote. Nothing of the candidate's runs here: both are bytes.
 *
 * @throws RangeError when the golden model's own output does not have the declared form: then the verifier is broken.
 */
export function compareOutputs(mode: CompareMode, expected: Uint8Array, got: Uint8Array): Comparison {
  switch (mode.mode) {
    case 'bytes':
      return Buffer.compare(expected, got) === 0 ? EQUAL : compareFirstByte(expected, got);
    case 'numbers':
      return compareNumbers(mode, expected, got);
    case 'canonical':
      return mode.form === 'json' ? compareJson(expected, got) : compareParts(mode.form, expected, got);
  }
}

/** Bytes before the first that differs, and of each output in all. */
const [EXCERPT_BEFORE, EXCERPT] = [256, 2048];

/** Cuts both outputs from a little before where they begin to differ, as text. */
export function excerptOutputs(expected: Uint8Array, got: Uint8Array): { readonly expected: string; readonly got: string } {
  const from = Math.max(0, findDifferingByte(expected, got) - EXCERPT_BEFORE);
  const excerpt = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(from, from + EXCERPT)).toString('utf8');
  return { expected: excerpt(expected), got: excerpt(got) };
}

function findDifferingByte(expected: Uint8Array, got: Uint8Array): number {
  const length = Math.min(expected.length, got.length);
  let at = 0;
  while (at < length && expected[at] === got[at]) at += 1;
  return at;
}

function compareFirstByte(expected: Uint8Array, got: Uint8Array): Comparison {
  const at = findDifferingByte(expected, got);
  const around = (bytes: Uint8Array): string => formatShown(Buffer.from(bytes.subarray(at, at + SHOWN)).toString('utf8'));
  return toDifference(`at byte ${at}: expected ${around(expected)}, got ${around(got)}`);
}

/** The golden model's outputs in canonical form: all verdicts of a group are compared with the same ones. */
const canonicalOutputs = new WeakMap<Uint8Array, string>();

function compareJson(expected: Uint8Array, got: Uint8Array): Comparison {
  const want = canonicalOutputs.get(expected) ?? formatCanonicalJson(parseGoldenJson(expected));
  canonicalOutputs.set(expected, want);
  try {
    const text = formatCanonicalJson(parseJson(got, OUTPUT_JSON));
    return text === want ? EQUAL : compareFirstByte(Buffer.from(want), Buffer.from(text));
  } catch (error) {
    if (error instanceof JsonProblem) return toDifference(error.message);
    throw error;
  }
}

function parseGoldenJson(expected: Uint8Array): unknown {
  try {
    return parseJson(expected, OUTPUT_JSON);
  } catch (error) {
    throw new RangeError(`the golden model's output: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/**
 * Compares lines without white space at their ends and without empty ones at the text's end; sorted-lines in any order; tokens, which any white space
 * separates.
 */
function compareParts(form: 'lines' | 'sorted-lines' | 'tokens', expected: Uint8Array, got: Uint8Array): Comparison {
  const [want, have] = [splitParts(form, expected), splitParts(form, got)];
  const length = Math.max(want.length, have.length);
  for (let at = 0; at < length; at += 1) {
    const [wanted, found] = [want[at], have[at]];
    if (wanted !== found)
      return toDifference(`${form === 'tokens' ? 'token' : 'line'} ${at + 1}: expected ${formatShown(wanted)}, got ${formatShown(found)}`);
  }
  return EQUAL;
}

function splitParts(form: 'lines' | 'sorted-lines' | 'tokens', bytes: Uint8Array): readonly string[] {
  // A byte for a character, so that what is no UTF-8 stays different from what is.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  if (form === 'tokens') return text.split(/[ \t\r\n]+/).filter((token) => token !== '');
  const lines = text.split('\n').map((line) => stripEnd(line));
  while (lines.at(-1) === '') lines.pop();
  return form === 'sorted-lines' ? lines.sort() : lines;
}

/** This avoids a regular expression: one that looks for white space at the end takes quadratic time on a line of white space and a letter. */
function stripEnd(line: string): string {
  let end = line.length;
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t' || line[end - 1] === '\r')) end -= 1;
  return line.slice(0, end);
}

function formatShown(text: string | undefined): string {
  return text === undefined ? 'nothing' : escapeUnprintableLine(JSON.stringify(text.slice(0, SHOWN)));
}
