import type { Disaster } from './simulated-pods.ts';

/** What is asked of the simulated API server. */
export interface SimulatedRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly kind: 'call' | 'watch' | 'exec';
  readonly query: URLSearchParams;
}

/** What goes wrong with one request. */
export type Fault =
  /** Refused; or, `afterwards`, done, and only the answer says that it was not. */
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly retryAfterSeconds?: number;
      readonly afterwards?: boolean;
      readonly message?: string;
    }
  /** The connection is reset without an answer; `afterwards`: when it has been done. Of an exec or a watch: after so many messages. */
  | { readonly kind: 'drop'; readonly afterwards?: boolean; readonly after?: number }
  | { readonly kind: 'delay'; readonly milliseconds: number }
  /** Of a watch or an exec: from now on nothing comes any more, and the connection stays. */
  | { readonly kind: 'silence' }
  /** Of a watch: a line that ends in its middle, then the connection's end. */
  | { readonly kind: 'half-frame' }
  /** Of a watch: events come in another order. */
  | { readonly kind: 'reorder' }
  /** Of an exec: what happens to its pod after so many messages. */
  | { readonly kind: 'disaster'; readonly disaster: Disaster | 'sandbox-deleted'; readonly after: number };

/** A fault that one request has been given. */
export type InjectedFault = Fault & {
  /** Called where the effect is due, and notes that the fault has struck. False when it has struck another request, and is to do so once. */
  readonly strike: () => boolean;
};

/** Chooses what goes wrong with a request; undefined: nothing. */
export type FaultPlan = (asked: SimulatedRequest) => Fault | undefined;

/** The faults of one simulator, to be changed at any time. */
export class Faults {
  #plan: FaultPlan = () => undefined;
  #struck: Fault[] = [];
  readonly #single = new Set<Fault>();

  /** Those that have had their effect since `plan` was called last, in order. A drop after many messages of a short command has none. */
  get struck(): readonly Fault[] {
    return this.#struck;
  }

  /** From now on, in place of what was planned before. */
  plan(plan: FaultPlan): void {
    this.#struck = [];
    this.#plan = plan;
  }

  /** For all requests that match, until it has struck one of them. */
  once(matches: (asked: SimulatedRequest) => boolean, fault: Fault): void {
    const before = this.#plan;
    const single = { ...fault };
    this.#single.add(single);
    this.#plan = (asked) => (matches(asked) && !this.#struck.includes(single) ? single : before(asked));
  }

  of(asked: SimulatedRequest): InjectedFault | undefined {
    const fault = this.#plan(asked);
    return fault && { ...fault, strike: this.#strikeOf(fault) };
  }

  #strikeOf(fault: Fault): () => boolean {
    const struck = this.#struck;
    let isMine = false;
    return () => {
      if (isMine || (this.#single.has(fault) && struck.includes(fault))) return isMine;
      struck.push(fault);
      isMine = true;
      return true;
    };
  }
}
