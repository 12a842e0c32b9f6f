import type { Memory } from './memory.ts';

/** A port of the in-memory store. */
export abstract class InMemoryPart {
  protected readonly memory: Memory;

  constructor(memory: Memory) {
    this.memory = memory;
  }
}
