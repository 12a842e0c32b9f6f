import type { FastifyRequest } from 'fastify';

/** Who speaks. */
export interface Caller {
  /** Whose evaluations, shares and entries in the audit these are. */
  readonly principal: string;
  readonly role: 'viewer' | 'submitter' | 'operator';
}

/** Finds out who speaks, and whether they may make the call. @throws MusterError when they may not. */
export type Authenticate = (request: FastifyRequest) => Promise<Caller>;

/** Everybody on this machine, where access is off. */
export const LOCAL_CALLER: Caller = { principal: 'local', role: 'operator' };

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler runs. */
    caller: Caller;
  }
}
