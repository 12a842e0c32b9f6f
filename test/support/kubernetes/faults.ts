/** What is asked of the simulated API server. */
export interface Asked {
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
  | { readonly kind: 'reorder' };

/** Chooses what goes wrong with a request; undefined: nothing. */
export type FaultPlan = (asked: Asked) => Fault | undefined;

/** The faults of one simulator, to be changed at any time. */
export class Faults {
  #plan: FaultPlan = () => undefined;

  /** From now on, in place of what was planned before. */
  plan(plan: FaultPlan): void {
    this.#plan = plan;
  }

  /** Once, for the first request that matches. */
  once(matches: (asked: Asked) => boolean, fault: Fault): void {
    const before = this.#plan;
    let isDone = false;
    this.#plan = (asked) => {
      if (isDone || !matches(asked)) return before(asked);
      isDone = true;
      return fault;
    };
  }

  of(asked: Asked): Fault | undefined {
    return this.#plan(asked);
  }
}
