import type { ReadAt } from './read-at.ts';

/** Read at once: most fields of interest are close together, and skipped ones may have gigabytes. */
const WINDOW_BYTES = 64 * 1024;
/** Bytes of a varint, at most. */
const MOST_VARINT_BYTES = 10;

/** A field of a message: its number, and its value or the value's position. */
export type Field =
  | { readonly number: number; readonly kind: 'varint'; readonly value: bigint }
  /** @see FieldReader.fields, FieldReader.text */
  | { readonly number: number; readonly kind: 'bytes'; readonly begin: number; readonly end: number }
  | { readonly number: number; readonly kind: 'fixed' };

/** The data is no protobuf message. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

/**
 * Visits the fields of protobuf messages (protobuf.dev/programming-guides/encoding) in a file, without reading fields that are not needed. Nothing in
 * the file is trusted.
 */
export class FieldReader {
  readonly #readAt: ReadAt;
  readonly #size: number;
  #window: Uint8Array = new Uint8Array();
  #windowAt = 0;
  #left: number;
  #textBytesLeft: number;

  /** @param most of all messages together. */
  constructor(size: number, readAt: ReadAt, most: { readonly fields: number; readonly textBytes: number }) {
    [this.#size, this.#readAt, this.#left, this.#textBytesLeft] = [size, readAt, most.fields, most.textBytes];
  }

  /** @throws MalformedMessage */
  async *readFields(begin: number, end: number): AsyncGenerator<Field> {
    for (let at = begin; at < end;) {
      this.#left -= 1;
      if (this.#left < 0) throw new MalformedMessage('it has more fields than any model');
      const key = await this.#readVarint(at, end);
      const number = Number(key.value >> 3n);
      const wire = Number(key.value & 7n);
      if (wire === 0) {
        const { value, next } = await this.#readVarint(key.next, end);
        yield { number, kind: 'varint', value };
        at = next;
      } else if (wire === 2) {
        const { value, next } = await this.#readVarint(key.next, end);
        if (value > BigInt(end - next)) throw new MalformedMessage(`field ${number} at byte ${at} claims ${value} bytes of ${end - next}`);
        at = next + Number(value);
        yield { number, kind: 'bytes', begin: next, end: at };
      } else if (wire === 1 || wire === 5) {
        at = key.next + (wire === 1 ? 8 : 4);
        if (at > end) throw new MalformedMessage(`field ${number} ends at byte ${at}, beyond its message`);
        yield { number, kind: 'fixed' };
      } else throw new MalformedMessage(`byte ${at} begins no field`);
    }
  }

  /** @throws MalformedMessage when it is longer than `mostBytes`. */
  async readText(begin: number, end: number, mostBytes: number): Promise<string> {
    if (end - begin > mostBytes)
      throw new MalformedMessage(`a text at byte ${begin} has ${end - begin} bytes, at most ${mostBytes} are shown`);
    this.#textBytesLeft -= end - begin;
    if (this.#textBytesLeft < 0) throw new MalformedMessage('it has more text than any model');
    return new TextDecoder().decode(await this.#readAt(begin, end - begin));
  }

  /** Reads consecutive numbers, as repeated fields are packed. */
  async readVarints(begin: number, end: number): Promise<readonly bigint[]> {
    const values: bigint[] = [];
    for (let at = begin; at < end;) {
      this.#left -= 1;
      if (this.#left < 0) throw new MalformedMessage('it has more numbers than any model');
      const { value, next } = await this.#readVarint(at, end);
      values.push(value);
      at = next;
    }
    return values;
  }

  async #readVarint(begin: number, end: number): Promise<{ readonly value: bigint; readonly next: number }> {
    let value = 0n;
    for (let i = 0; i < MOST_VARINT_BYTES && begin + i < end; i += 1) {
      const byte = await this.#readByte(begin + i);
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return { value: BigInt.asUintN(64, value), next: begin + i + 1 };
    }
    throw new MalformedMessage(`the number at byte ${begin} does not end`);
  }

  async #readByte(at: number): Promise<number> {
    if (at < this.#windowAt || at >= this.#windowAt + this.#window.length) {
      this.#window = await this.#readAt(at, Math.min(WINDOW_BYTES, this.#size - at));
      this.#windowAt = at;
    }
    const byte = this.#window[at - this.#windowAt];
    if (byte === undefined) throw new MalformedMessage(`it ends at byte ${at}`);
    return byte;
  }
}
