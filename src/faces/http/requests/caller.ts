import type { Caller } from '../../../service/access/caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; undefined for calls that need no name. */
    caller: Caller | undefined;
    /** Whether the caller would be admitted now: a token expires, and may be revoked. It is undefined for calls without authentication. */
    isStillKnown: (() => Promise<boolean>) | undefined;
  }
}

/** Returns the caller of a call that needs a name. @throws Error for calls that need none. */
export function requireCaller(caller: Caller | undefined): Caller {
  if (caller) return caller;
  throw new Error('this call needs no name, and has no caller');
}
