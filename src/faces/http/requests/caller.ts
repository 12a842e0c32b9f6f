import type { Caller } from '../../../service/access/caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who speaks; undefined for the calls that are anyone's, which nobody is asked for a name at. */
    caller: Caller | undefined;
  }
}

/** For calls that somebody has to make. @throws Error for those that are anyone's. */
export function identified(caller: Caller | undefined): Caller {
  if (caller) return caller;
  throw new Error("this is a call that is anyone's, and has no caller");
}
