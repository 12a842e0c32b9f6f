/** Longest name that a message shows. */
const MOST_SHOWN = 200;

/** The pickle uses, or may use, an opcode that Muster does not interpret. */
export class UnknownPickle extends Error {
  override readonly name = 'UnknownPickle';
}

/** A class or function of which only the name is known. */
export class Named {
  readonly name: string;

  /** The name, shortened for messages. */
  get shown(): string {
    return this.name.slice(0, MOST_SHOWN);
  }

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A call that the pickle would make and Muster does not. Its entries are what the pickle sets on the result: those of a mapping, or of a TorchScript
 * module.
 */
export class Called {
  readonly callee: unknown;
  readonly with: readonly unknown[];
  readonly entries = new Map<unknown, unknown>();

  constructor(callee: unknown, given: unknown) {
    this.callee = callee;
    this.with = Array.isArray(given) ? given : [];
  }
}

/** A reference to data beside the pickle. */
export class Stored {
  readonly place: readonly unknown[];

  constructor(place: unknown) {
    this.place = Array.isArray(place) ? place : [];
  }
}

/** Whether the call makes a module whose class is code in the same TorchScript archive. */
export function isModule({ callee }: Called): boolean {
  return callee instanceof Named && callee.name.startsWith('__torch__.');
}
