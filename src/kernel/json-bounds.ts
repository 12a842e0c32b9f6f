import { formatExactBytes } from './text/figures.ts';
export interface JsonBounds {
  /** Bytes of the text. */
  readonly bytes: number;
  /** Nested lists and objects. */
  readonly depth: number;
  /** Lists, objects and their values; keys do not count. */
  readonly values: number;
}

/** A text is not JSON, or exceeds the bounds. */
export class JsonProblem extends Error {
  override readonly name = 'JsonProblem';
  readonly found: string;
  readonly expected: string;

  constructor(found: string, expected: string, cause?: unknown) {
    super(`${found}; expected ${expected}`, { cause });
    this.found = found;
    this.expected = expected;
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Measures a JSON text in pieces before any of it is parsed, in one pass and constant memory. It does not check that the text is valid
 * JSON.
 */
export class JsonScan {
  readonly #bounds: JsonBounds;
  #bytes = 0;
  #depth = 0;
  #values = 1;
  #isInText = false;
  #isEscaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /** @throws JsonProblem within the piece that exceeds a bound. */
  push(piece: Uint8Array): void {
    const { bytes } = this.#bounds;
    this.#bytes += piece.length;
    if (this.#bytes > bytes)
      throw new JsonProblem(`its JSON has more than ${formatExactBytes(bytes)}`, `at most ${formatExactBytes(bytes)}`);
    for (let at = 0; at < piece.length;) at = this.#isInText ? this.#scanText(piece, at) : this.#scanStructure(piece, at);
  }

  /** Scans up to the beginning of a string. */
  #scanStructure(piece: Uint8Array, begin: number): number {
    const { depth: mostDepth, values: mostValues } = this.#bounds;
    let [at, depth, values] = [begin, this.#depth, this.#values];
    for (; at < piece.length; at += 1) {
      const byte = piece[at];
      if (byte === QUOTE) break;
      if (byte === COMMA) values += 1;
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        // The container's first value; each further one follows a comma.
        values += 1;
        depth += 1;
        if (depth > mostDepth)
          throw new JsonProblem(`its JSON has more than ${mostDepth} nested lists and objects`, `at most ${mostDepth}`);
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    }
    if (values > mostValues) throw new JsonProblem(`its JSON has more than ${mostValues} values`, `at most ${mostValues}`);
    this.#isInText = at < piece.length;
    [this.#depth, this.#values] = [depth, values];
    return at + 1;
  }

  /** Scans to the end of a string. */
  #scanText(piece: Uint8Array, begin: number): number {
    let [at, isEscaped] = [begin, this.#isEscaped];
    for (; at < piece.length; at += 1) {
      const byte = piece[at];
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) break;
    }
    this.#isInText = at === piece.length;
    this.#isEscaped = isEscaped;
    return at + 1;
  }
}

/** @throws JsonProblem when it is no JSON in UTF-8, or exceeds a bound; in that case none of it is parsed. */
export function parseJson(bytes: Uint8Array, bounds: JsonBounds): unknown {
  return parseText(decodeBounded(bytes, bounds));
}

export function isWithin(bytes: Uint8Array, bounds: JsonBounds): boolean {
  try {
    new JsonScan(bounds).push(bytes);
    return true;
  } catch (error) {
    if (error instanceof JsonProblem) return false;
    throw error;
  }
}

/** Decodes a JSON document that is within the bounds. @throws JsonProblem */
export function decodeBounded(bytes: Uint8Array, bounds: JsonBounds): string {
  new JsonScan(bounds).push(bytes);
  return decodeUtf8(bytes);
}

/** @throws JsonProblem */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new JsonProblem('it is not valid JSON', 'JSON in UTF-8', error);
  }
}

/** @param text within the bounds. @throws JsonProblem */
export function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new JsonProblem('it is not valid JSON', 'JSON in UTF-8', error);
  }
}

/** @param text within the bounds. @returns undefined when it is no JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
