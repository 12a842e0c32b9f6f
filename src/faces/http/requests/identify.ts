import { normalizeIP } from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import { authenticate, describeRemedy, type RefusedToken } from '../../../service/access/authenticate.ts';
import { LOCAL_CALLER, type Caller } from '../../../service/access/caller.ts';
import { findStrangeOrigin } from '../../../service/access/loopback.ts';
import { TokenAttempts, KnownTokens } from '../../../service/access/token-attempts.ts';
import type { Tokens } from '../../../evaluation-store/tokens.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { ForbiddenError, TooManyRequestsError, UnauthenticatedError } from '../problems/refusals.ts';
import { readCookieAuthorization, isForeign } from './session-cookie.ts';

/** The caller of a request, or the error that refuses it. */
export type Identify = (request: FastifyRequest) => Promise<Caller | UnauthenticatedError | ForbiddenError | TooManyRequestsError>;

/**
 * Identifies callers by their tokens, in the header `Authorization` or in the page's cookie.
 *
 * @param failuresPerMinute invalid tokens of one address: beyond that, only tokens that were valid before are looked up. Undefined for any number.
 */
export function identifyByToken(tokens: Pick<Tokens, 'find'>, clock: Clock, failuresPerMinute?: number): Identify {
  const attempts = new TokenAttempts(clock, failuresPerMinute ?? Infinity);
  const known = new KnownTokens();
  return async (request) => {
    const { headers, ip } = request;
    const authorization = getBearer(headers.authorization) ?? readCookieAuthorization(headers);
    if (authorization === undefined) return createUnauthenticatedError('missing');
    if (headers.authorization === undefined && isForeign(request)) return createForeignPageError();
    if (known.has(authorization)) return lookUp(authorization);
    const address = normalizeIP(ip);
    const pause = attempts.begin(address);
    if (pause !== undefined) return createTooManyTokensError(attempts.most, pause);
    let isGood = true;
    try {
      const identity = await lookUp(authorization);
      isGood = !(identity instanceof UnauthenticatedError);
      return identity;
    } finally {
      if (isGood) attempts.takeBack(address);
    }
  };
  async function lookUp(authorization: string): Promise<Caller | UnauthenticatedError> {
    const found = await authenticate(tokens, clock, authorization);
    if (found.kind === 'caller') known.remember(authorization);
    else known.forget(authorization);
    return found.kind === 'caller' ? found.caller : createUnauthenticatedError(found.why);
  }
}

const BASIC = /^basic +(?<credentials>[A-Za-z0-9+/=]{1,1000}) *$/i;

/** A client that can be given nothing but an address takes the token with it: http://muster:muster_…@host. It then comes as a password. */
function getBearer(authorization: string | undefined): string | undefined {
  const credentials = BASIC.exec(authorization ?? '')?.groups?.['credentials'];
  if (credentials === undefined) return authorization;
  const decoded = Buffer.from(credentials, 'base64').toString('latin1');
  return `Bearer ${decoded.slice(decoded.indexOf(':') + 1)}`;
}

function createForeignPageError(): ForbiddenError {
  const remedy = 'programs send the header "Authorization: Bearer muster_…" in place of a cookie';
  return new ForbiddenError(
    'access.foreign-page',
    `a changing request with a session cookie must come from a page of this server; ${remedy}`,
  );
}

function createUnauthenticatedError(why: RefusedToken): UnauthenticatedError {
  return new UnauthenticatedError(`access.${why}`, describeRemedy(why));
}

function createTooManyTokensError(mostPerMinute: number, seconds: number): TooManyRequestsError {
  const what = `more than ${mostPerMinute} tokens that are not good came from this address within a minute (server.failedTokensPerMinute)`;
  return new TooManyRequestsError('access.too-many', `${what}; try again in ${seconds} s, with a token that an operator made`, seconds);
}

/** Identifies every caller on this machine, where access is off. */
export const identifyLocal: Identify = async ({ headers, socket }) => {
  const forwarded = headers.forwarded ?? headers['x-forwarded-for'];
  const strange = findStrangeOrigin({
    remoteAddress: socket.remoteAddress,
    host: headers.host,
    origin: headers.origin,
    forwarded: typeof forwarded === 'object' ? forwarded.join(', ') : forwarded,
  });
  if (strange === undefined) return LOCAL_CALLER;
  return new ForbiddenError(
    'access.not-local',
    `server.access is "off", which admits only this machine, and ${strange}; set server.access: "tokens" for other machines`,
  );
};
