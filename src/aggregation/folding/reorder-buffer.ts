/**
 * Holds items that arrive early and returns them in index order: a ring over the `capacity` indices from the due one on. Each operation takes
 * constant time.
 */
export class ReorderBuffer<Item extends object> {
  /** Its length is a power of two and fits the largest number of items so far, so that an unused wide window costs nothing. */
  #ring: (Item | undefined)[] = createSlots(1024);
  readonly #capacity: number;
  #next = 0;
  #size = 0;

  /** @throws RangeError when `capacity` is no positive whole number. */
  constructor(capacity: number) {
    if (!Number.isSafeInteger(capacity) || capacity < 1) throw new RangeError(`expected a capacity of at least 1, got ${capacity}`);
    this.#capacity = capacity;
  }

  /** The due index: all before it have been taken. */
  get next(): number {
    return this.#next;
  }

  /** The number of items that are held. */
  get size(): number {
    return this.#size;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Whether `index` was added, whether or not it has been taken since. */
  hasSeen(index: number): boolean {
    return index < this.#next || (index < this.#next + this.#ring.length && this.#ring[this.#getSlot(index)] !== undefined);
  }

  /** @throws RangeError when `index` is no index, was added before, or is `capacity` or more ahead of the due one: the caller ran too far ahead. */
  put(index: number, item: Item): void {
    if (!Number.isSafeInteger(index) || index < 0) throw new RangeError(`an episode index is a whole number from 0 on, got ${index}`);
    if (index >= this.#next + this.capacity)
      throw new RangeError(`index ${index} is too far ahead of ${this.#next}, the buffer holds ${this.capacity}`);
    if (this.hasSeen(index)) throw new RangeError(`index ${index} was put twice`);
    if (index >= this.#next + this.#ring.length) this.#grow(index - this.#next + 1);
    this.#ring[this.#getSlot(index)] = item;
    this.#size += 1;
  }

  /** Returns the due item and moves on to the next index; undefined while it has not arrived. */
  take(): Item | undefined {
    const slot = this.#getSlot(this.#next);
    const item = this.#ring[slot];
    if (item === undefined) return undefined;
    this.#ring[slot] = undefined;
    this.#next += 1;
    this.#size -= 1;
    return item;
  }

  #getSlot(index: number): number {
    return index & (this.#ring.length - 1);
  }

  #grow(length: number): void {
    const before = this.#ring;
    this.#ring = createSlots(2 ** Math.ceil(Math.log2(length)));
    for (let index = this.#next; index < this.#next + before.length; index += 1) {
      this.#ring[this.#getSlot(index)] = before[index & (before.length - 1)];
    }
  }
}

function createSlots<Item>(length: number): (Item | undefined)[] {
  return Array.from({ length }, () => undefined);
}
