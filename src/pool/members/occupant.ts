import type { PastExposure } from '../ports/exposure.ts';

/** The program inside a sandbox, as Muster talks to it. The pool watches it; the lease holder uses it. */
export interface Occupant {
  /** Resolves with a reason, for people, when it can no longer be used; never rejects. */
  readonly gone: Promise<string>;
  /** Resolves when it has answered. */
  ping(signal: AbortSignal): Promise<void>;
  /** Called when a lease is released: whether the next holder finds it as good as new. Always true when left out. */
  isReusable?(): boolean;
  /** The exposures that have come into the sandbox so far. There are none when it is left out. */
  readonly past?: PastExposure;
}
