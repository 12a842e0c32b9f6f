import type { FastifyRequest } from 'fastify';
import { authenticate, remedyOf } from '../access/authenticate.ts';
import { LOCAL_CALLER, type Caller } from '../access/caller.ts';
import { strangeOrigin } from '../access/loopback.ts';
import type { Tokens } from '../evaluation-store/tokens.ts';
import type { Clock } from '../kernel/clock.ts';
import { ForbiddenError, UnauthenticatedError } from './refusals.ts';

/** Who makes a request; the error that it is refused with when nobody can say. */
export type Identify = (request: FastifyRequest) => Promise<Caller | UnauthenticatedError | ForbiddenError>;

/** By their tokens. */
export function identifyByToken(tokens: Pick<Tokens, 'find'>, clock: Clock): Identify {
  return async ({ headers }) => {
    const found = await authenticate(tokens, clock, headers.authorization);
    return found.kind === 'caller' ? found.caller : new UnauthenticatedError(`access.${found.why}`, remedyOf(found.why));
  };
}

/** Whoever is on this machine, where access is off. */
export const identifyLocal: Identify = async ({ headers, socket }) => {
  const forwarded = headers.forwarded ?? headers['x-forwarded-for'];
  const strange = strangeOrigin({
    remoteAddress: socket.remoteAddress,
    host: headers.host,
    origin: headers.origin,
    forwarded: typeof forwarded === 'object' ? forwarded.join(', ') : forwarded,
  });
  if (strange === undefined) return LOCAL_CALLER;
  return new ForbiddenError(
    'access.stranger',
    `server.access is "off", which is for this machine alone, and ${strange}; set server.access: "tokens" for others`,
  );
};
