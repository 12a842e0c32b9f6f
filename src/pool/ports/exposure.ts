import type { Digest } from '../../kernel/ids.ts';

/** What an evaluation brings into a sandbox. */
export type Exposure = DataExposure | CodeExposure;

/** Content that could not change the program: known environments and wrappers, and policies that are numbers. */
export interface DataExposure {
  readonly kind: 'data';
  readonly principal: string;
}

/** Code, which may change everything in the sandbox and read what is there. */
export interface CodeExposure {
  readonly kind: 'code';
  readonly principal: string;
  /** Digest of everything that the environments are made of, the suite's own modules included. */
  readonly suite: Digest;
  /** It is undefined when the policy is data. */
  readonly checkpoint: Digest | undefined;
}

/**
 * Says what has been in a sandbox so far. Data of several principals has no principal: each of them may play on, and none may run code there that
 * would find the others' policies.
 */
export type PastExposure =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'data'; readonly principal: string | undefined }
  /** Code that the operator trusts was loaded before the sandbox was forked, for one principal. */
  | { readonly kind: 'imported'; readonly principal: string }
  | CodeExposure;

export const FRESH: PastExposure = { kind: 'fresh' };

/**
 * Whether an evaluation with this exposure may use a sandbox with this past. Data may follow data. Code can read what others left, so it
 * needs a sandbox that has held only its principal's data or this very code.
 */
export function mayServe(past: PastExposure, wanted: Exposure): boolean {
  switch (past.kind) {
    case 'fresh':
      return true;
    case 'data':
      return wanted.kind === 'data' || past.principal === wanted.principal;
    case 'imported':
      return past.principal === wanted.principal;
    case 'code':
      return wanted.kind === 'code' && nameCode(past) === nameCode(wanted);
  }
}

/** Returns the sandbox's past after this exposure. @throws Error when the exposure is not allowed. */
export function addExposure(past: PastExposure, coming: Exposure): PastExposure {
  if (!mayServe(past, coming)) throw new Error(`a sandbox with ${JSON.stringify(past)} is not for ${JSON.stringify(coming)}`);
  if (coming.kind === 'code' || past.kind === 'fresh') return coming;
  return past.kind === 'data' && past.principal !== coming.principal ? { kind: 'data', principal: undefined } : past;
}

/** Returns a key that is equal only for the same code of the same principal. */
export function nameCode({ principal, suite, checkpoint }: CodeExposure): string {
  return JSON.stringify([principal, suite, checkpoint]);
}
