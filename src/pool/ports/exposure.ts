import type { Digest } from '../../kernel/ids.ts';

/** What an evaluation brings into a sandbox. */
export type Exposure = DataExposure | CodeExposure;

/** Nothing that could change the program: environments and wrappers that are known, policies that are numbers. */
export interface DataExposure {
  readonly kind: 'data';
  readonly principal: string;
}

/** Code, which may have changed everything in the sandbox, and may read what is there. */
export interface CodeExposure {
  readonly kind: 'code';
  readonly principal: string;
  /** Names all that the environments are made of, the suite's own modules among it. */
  readonly suite: Digest;
  /** Undefined when the policy is data. */
  readonly checkpoint: Digest | undefined;
}

/**
 * What has been in a sandbox so far. Data of several principals has no principal: each of them may play on, and none may run code that would find
 * the others' policies there.
 */
export type PastExposure =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'data'; readonly principal: string | undefined }
  /** Code that the operator vouches for was loaded before the sandbox was forked, for one principal. */
  | { readonly kind: 'imported'; readonly principal: string }
  | CodeExposure;

export const FRESH: PastExposure = { kind: 'fresh' };

/**
 * Whether an evaluation with this exposure may use a sandbox with this past. Data is safe where only data was. Code can read what others left: it gets a
 * sandbox in which only its principal's data was, or this very code.
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

/** The sandbox's past after this exposure. @throws Error when the exposure is not allowed. */
export function addExposure(past: PastExposure, coming: Exposure): PastExposure {
  if (!mayServe(past, coming)) throw new Error(`a sandbox with ${JSON.stringify(past)} is not for ${JSON.stringify(coming)}`);
  if (coming.kind === 'code' || past.kind === 'fresh') return coming;
  return past.kind === 'data' && past.principal !== coming.principal ? { kind: 'data', principal: undefined } : past;
}

/** A key: equal for the same code of the same principal, and only then. */
export function nameCode({ principal, suite, checkpoint }: CodeExposure): string {
  return JSON.stringify([principal, suite, checkpoint]);
}
