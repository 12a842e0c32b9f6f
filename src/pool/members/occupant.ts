import type { PastExposure } from '../ports/exposure.ts';

/** What makes a sandbox ready for work: the program inside, spoken to. The pool watches it; the lease holder uses it. */
export interface Occupant {
  /** Resolves, with a reason for a person, when it can no longer be used; never rejects. */
  readonly gone: Promise<string>;
  /** Resolves when it has answered. */
  ping(signal: AbortSignal): Promise<void>;
  /** Asked when a lease is released: whether the next holder finds it as good as new. Always, where this is left out. */
  isReusable?(): boolean;
  /** The exposures that have come into the sandbox so far. None when left out. */
  readonly past?: PastExposure;
}
