import type { Block } from './block.ts';

/** A block that a runner is playing or about to play. */
export interface Flight {
  readonly block: Block;
  /** Milliseconds on the clock. */
  readonly since: number;
  /** Episodes that its runner has to play first. */
  readonly behind: number;
  copies: number;
  /** Another copy has used up the attempts: this one decides and gets no further copy. */
  isLast?: boolean;
}

/**
 * The blocks in flight, by number. Their numbers are close together, so a ring is enough: hundreds of thousands may be in flight, and a
 * hash table would cost an episode more than all other work of dispatch.
 */
export class Flights {
  #slots = createSlots(1024);
  /** No number below is in flight, and none from `#end` on. */
  #start = 0;
  #end = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(number: number): Flight | undefined {
    return number < this.#start || number >= this.#end ? undefined : this.#slots[number & (this.#slots.length - 1)];
  }

  add(flight: Flight): void {
    const { number } = flight.block;
    if (this.#size === 0) this.#start = this.#end = number;
    const start = Math.min(this.#start, number);
    const end = Math.max(this.#end, number + 1);
    if (end - start > this.#slots.length) this.#grow(end - start);
    this.#start = start;
    this.#end = end;
    this.#slots[number & (this.#slots.length - 1)] = flight;
    this.#size += 1;
  }

  remove(number: number): void {
    if (this.get(number) === undefined) return;
    this.#slots[number & (this.#slots.length - 1)] = undefined;
    this.#size -= 1;
    while (this.#start < this.#end && this.get(this.#start) === undefined) this.#start += 1;
  }

  /** Finds the lowest number with one copy in flight and room for another: the one that the fold waits for. */
  findFirstSingle(): Flight | undefined {
    for (let number = this.#start; number < this.#end; number += 1) {
      const flight = this.get(number);
      if (flight?.copies === 1 && !flight.isLast) return flight;
    }
    return undefined;
  }

  #grow(length: number): void {
    const before = this.#slots;
    const slots = createSlots(2 ** Math.ceil(Math.log2(length)));
    for (let number = this.#start; number < this.#end; number += 1)
      slots[number & (slots.length - 1)] = before[number & (before.length - 1)];
    this.#slots = slots;
  }
}

function createSlots(length: number): (Flight | undefined)[] {
  return Array.from({ length }, () => undefined);
}
