/** What can be asked of the simulator; faults are placed by it. */
export const ROUTES = [
  'create',
  'list',
  'kill',
  'extend',
  'resume',
  'pause',
  'info',
  'template',
  'health',
  'start',
  'attach',
  'input',
  'close-input',
  'signal',
  'processes',
  'upload',
  'move',
  'other',
] as const;
export type Route = (typeof ROUTES)[number];

/**
 * - `busy`, `busy-for-a-second`: 429 without and with Retry-After. `failing`: 500. `unavailable`: 503. `conflict`: 409.
 * - `dropped`: the connection breaks before anything is done; `answer-dropped`: after it is done.
 * - `delayed`: the answer takes its time, so that later ones overtake it.
 * - `cut`: the connection breaks in the middle of a frame of output. `dies`: the sandbox ends while it answers.
 */
export const FAULTS = [
  'busy',
  'busy-for-a-second',
  'failing',
  'unavailable',
  'conflict',
  'dropped',
  'answer-dropped',
  'delayed',
  'cut',
  'dies',
] as const;
export type FaultKind = (typeof FAULTS)[number];

export interface Fault {
  readonly route: Route;
  /** The how-manieth request of its route it strikes, from 1. */
  readonly nth: number;
  readonly kind: FaultKind;
}

/** A fault that one request has been given. */
export interface InjectedFault {
  readonly kind: FaultKind;
  /** Called where it has its effect. A connection that is to be cut after more output than there is has none. */
  readonly strike: () => void;
}

/** Gives requests the faults that the script has for them, and counts both. */
export class FaultScript {
  readonly #faults: readonly Fault[];
  readonly #counts = new Map<Route, number>();
  readonly #struck = new Set<Fault>();

  constructor(faults: readonly Fault[] = []) {
    this.#faults = faults;
  }

  next(route: Route): InjectedFault | undefined {
    const nth = (this.#counts.get(route) ?? 0) + 1;
    this.#counts.set(route, nth);
    const fault = this.#faults.find((each) => each.route === route && each.nth === nth);
    return fault && { kind: fault.kind, strike: () => void this.#struck.add(fault) };
  }

  /** Those that have had their effect. */
  get struck(): readonly Fault[] {
    return [...this.#struck];
  }

  /** Requests so far, by route. */
  get requests(): Readonly<Partial<Record<Route, number>>> {
    return Object.fromEntries(this.#counts);
  }
}
