import type { SandboxId } from '../../kernel/ids.ts';
import { nameCode, type Exposure, type PastExposure } from '../ports/exposure.ts';

interface Shelved {
  readonly id: SandboxId;
  readonly past: PastExposure;
}

/**
 * Groups sandboxes by the evaluations that they may serve, so that matching them with all waiters takes one pass. A waiter gets the sandbox that is
 * of least use to others; of several, the last one.
 */
export class SandboxShelves<Sandbox extends Shelved> {
  readonly #all: readonly Sandbox[];
  /** A sandbox may be on several shelves. */
  readonly #shelves = new Map<string, Sandbox[]>();
  readonly #taken = new Set<SandboxId>();
  /** Index of the first sandbox that may be left: all before it are taken. */
  #first = 0;

  constructor(all: readonly Sandbox[]) {
    this.#all = all;
    for (const sandbox of all) {
      for (const name of listShelves(sandbox.past)) {
        const shelf = this.#shelves.get(name);
        if (shelf) shelf.push(sandbox);
        else this.#shelves.set(name, [sandbox]);
      }
    }
  }

  get isEmpty(): boolean {
    return this.#taken.size === this.#all.length;
  }

  /** Returns undefined when none may serve. */
  take(wanted: Exposure): Sandbox | undefined {
    for (const name of listShelvesFor(wanted)) {
      const shelf = this.#shelves.get(name) ?? [];
      for (let sandbox = shelf.pop(); sandbox; sandbox = shelf.pop()) if (this.#take(sandbox)) return sandbox;
    }
    return undefined;
  }

  /** Takes a sandbox whatever it may serve. Returns undefined when all are taken. */
  takeFirst(): Sandbox | undefined {
    for (let sandbox = this.#all[this.#first]; sandbox; sandbox = this.#all[(this.#first += 1)]) if (this.#take(sandbox)) return sandbox;
    return undefined;
  }

  /** Lists the sandboxes that no waiter took, in their order. */
  listRemaining(): Sandbox[] {
    return this.#all.filter(({ id }) => !this.#taken.has(id));
  }

  #take({ id }: Sandbox): boolean {
    if (this.#taken.has(id)) return false;
    this.#taken.add(id);
    return true;
  }
}

const FRESH = 'fresh';
const DATA = 'data';

function listShelves(past: PastExposure): readonly string[] {
  switch (past.kind) {
    case 'fresh':
      return [FRESH];
    case 'data':
      return past.principal === undefined ? [DATA] : [DATA, formatOwnShelf('data', past.principal)];
    case 'imported':
      return [formatOwnShelf('imported', past.principal)];
    case 'code':
      return [nameCode(past)];
  }
}

/** Lists the shelves whose sandboxes may serve, in the order of the search. */
function listShelvesFor(wanted: Exposure): readonly string[] {
  const ofPrincipal = [formatOwnShelf('imported', wanted.principal), formatOwnShelf('data', wanted.principal)];
  switch (wanted.kind) {
    case 'data':
      return [...ofPrincipal, DATA, FRESH];
    case 'code':
      return [nameCode(wanted), ...ofPrincipal, FRESH];
  }
}

function formatOwnShelf(kind: 'data' | 'imported', principal: string): string {
  return `${kind} ${principal}`;
}
