import { Called, isModule, Named, Stored, UnknownPickle } from './pickled-values.ts';

const MARK = Symbol('mark');
/** A tensor takes some forty steps, so this is enough for a hundred thousand tensors. */
const MOST_STEPS = 4_000_000;

/** Reads a pickle into plain values, lists, maps, and descriptions of the calls that it would make. @throws UnknownPickle */
export function readPickle(pickle: Uint8Array): unknown {
  return new Opcodes(pickle).getResult();
}

/**
 * Reads the opcodes of a pickle (CPython's pickletools.py). It records calls by name only: nothing is imported, called or constructed. An
 * unknown opcode ends the reading.
 */
class Opcodes {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;
  #steps = 0;
  readonly #stack: unknown[] = [];
  readonly #memo = new Map<number, unknown>();

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  getResult(): unknown {
    try {
      for (;;) {
        this.#step(1);
        const code = this.#view.getUint8(this.#at++);
        if (code === 0x2e) return this.#stack.pop();
        this.#obey(code);
      }
    } catch (error) {
      if (error instanceof RangeError) throw new UnknownPickle('it ends in the middle', { cause: error });
      throw error;
    }
  }

  /** Copied entries count as many steps as written ones. */
  #step(count: number): void {
    this.#steps += count;
    if (this.#steps > MOST_STEPS) throw new UnknownPickle(`it takes more than ${MOST_STEPS} steps`);
  }

  #obey(code: number): void {
    if (this.#tryValue(code) || this.#tryStructure(code)) return;
    throw new UnknownPickle(`the opcode 0x${code.toString(16)} at byte ${this.#at - 1} is not looked at`);
  }

  /** Executes an opcode for numbers, texts, and remembered values. @returns whether it was one. */
  #tryValue(code: number): boolean {
    switch (code) {
      case 0x80: // PROTO
        this.#at += 1;
        return true;
      case 0x95: // FRAME
        this.#at += 8;
        return true;
      case 0x4e: // NONE
        return this.#push(null);
      case 0x88: // NEWTRUE
        return this.#push(true);
      case 0x89: // NEWFALSE
        return this.#push(false);
      case 0x4a: // BININT
        return this.#push(this.#view.getInt32(this.#skip(4), true));
      case 0x4b: // BININT1
        return this.#push(this.#view.getUint8(this.#skip(1)));
      case 0x4d: // BININT2
        return this.#push(this.#view.getUint16(this.#skip(2), true));
      case 0x47: // BINFLOAT
        return this.#push(this.#view.getFloat64(this.#skip(8)));
      case 0x8a: // LONG1
        return this.#push(this.#readLong(this.#view.getUint8(this.#skip(1))));
      case 0x58: // BINUNICODE
      case 0x54: // BINSTRING
      case 0x42: // BINBYTES
        return this.#push(this.#readText(this.#view.getUint32(this.#skip(4), true)));
      case 0x8c: // SHORT_BINUNICODE
      case 0x55: // SHORT_BINSTRING
      case 0x43: // SHORT_BINBYTES
        return this.#push(this.#readText(this.#view.getUint8(this.#skip(1))));
      case 0x71: // BINPUT
        return this.#remember(this.#view.getUint8(this.#skip(1)));
      case 0x72: // LONG_BINPUT
        return this.#remember(this.#view.getUint32(this.#skip(4), true));
      case 0x94: // MEMOIZE
        return this.#remember(this.#memo.size);
      case 0x68: // BINGET
        return this.#push(this.#memo.get(this.#view.getUint8(this.#skip(1))));
      case 0x6a: // LONG_BINGET
        return this.#push(this.#memo.get(this.#view.getUint32(this.#skip(4), true)));
      default:
        return false;
    }
  }

  /** Executes an opcode that builds lists, maps, names and calls from values. @returns whether it was one. */
  #tryStructure(code: number): boolean {
    switch (code) {
      case 0x28: // MARK
        return this.#push(MARK);
      case 0x7d: // EMPTY_DICT
        return this.#push(new Map());
      case 0x5d: // EMPTY_LIST
      case 0x29: // EMPTY_TUPLE
        return this.#push([]);
      case 0x74: // TUPLE
        return this.#push(this.#toMark());
      case 0x85: // TUPLE1
      case 0x86: // TUPLE2
      case 0x87: // TUPLE3
        return this.#push(this.#stack.splice(-(code - 0x84)));
      case 0x61: // APPEND
        return this.#append([this.#stack.pop()]);
      case 0x65: // APPENDS
        return this.#append(this.#toMark());
      case 0x73: // SETITEM
        return this.#set(this.#stack.splice(-2));
      case 0x75: // SETITEMS
        return this.#set(this.#toMark());
      case 0x63: // GLOBAL
        return this.#push(new Named(`${this.#readLine()}.${this.#readLine()}`));
      case 0x93: // STACK_GLOBAL
        return this.#push(this.#createNamed(this.#stack.splice(-2)));
      case 0x51: // BINPERSID
        return this.#push(new Stored(this.#stack.pop()));
      case 0x52: // REDUCE
      case 0x81: {
        // NEWOBJ
        const [callee, given] = this.#stack.splice(-2);
        return this.#push(new Called(callee, given));
      }
      case 0x62: // BUILD
        return this.#build(this.#stack.pop());
      default:
        return false;
    }
  }

  /** Joins texts only: joining nested lists could take forever. */
  #createNamed(parts: readonly unknown[]): Named {
    const texts = parts.filter((part) => typeof part === 'string');
    if (texts.length !== 2) throw new UnknownPickle(`what is named before byte ${this.#at} has no name`);
    return new Named(texts.join('.'));
  }

  #push(value: unknown): true {
    this.#stack.push(value);
    return true;
  }

  #remember(key: number): true {
    this.#memo.set(key, this.#stack.at(-1));
    return true;
  }

  #append(values: readonly unknown[]): true {
    const list = this.#stack.at(-1);
    if (Array.isArray(list)) for (const value of values) list.push(value);
    return true;
  }

  #set(pairs: readonly unknown[]): true {
    const target = this.#stack.at(-1);
    const entries = target instanceof Called ? target.entries : target;
    if (entries instanceof Map) for (let i = 0; i + 1 < pairs.length; i += 2) entries.set(pairs[i], pairs[i + 1]);
    return true;
  }

  /** State of other objects is ignored: it does not describe a tensor. */
  #build(state: unknown): true {
    const target = this.#stack.at(-1);
    if (!(target instanceof Called && isModule(target) && state instanceof Map)) return true;
    this.#step(state.size);
    for (const [key, value] of state) target.entries.set(key, value);
    return true;
  }

  #toMark(): unknown[] {
    const at = this.#stack.lastIndexOf(MARK);
    if (at < 0) throw new UnknownPickle(`nothing was begun that ends at byte ${this.#at}`);
    return this.#stack.splice(at).slice(1);
  }

  /** @returns the previous position. */
  #skip(bytes: number): number {
    this.#at += bytes;
    return this.#at - bytes;
  }

  #readText(length: number): string {
    const begin = this.#skip(length);
    if (this.#at > this.#bytes.length) throw new UnknownPickle('it ends in the middle of a text');
    return new TextDecoder().decode(this.#bytes.subarray(begin, this.#at));
  }

  #readLine(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at);
    if (end < 0) throw new UnknownPickle('it ends in the middle of a name');
    const text = this.#readText(end - this.#at);
    this.#at += 1;
    return text;
  }

  #readLong(length: number): number {
    let value = 0n;
    const begin = this.#skip(length);
    for (let i = 0; i < length; i += 1) value |= BigInt(this.#view.getUint8(begin + i)) << BigInt(8 * i);
    return Number(BigInt.asIntN(8 * length, value));
  }
}
