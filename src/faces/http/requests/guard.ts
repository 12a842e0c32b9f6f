import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { findCall, NEEDS } from '../../../service/access/permissions.ts';
import type { Identify } from './identify.ts';
import { assertPermitted, ForbiddenError, TooManyRequestsError } from '../problems/refusals.ts';

export interface GuardOptions {
  readonly identify: Identify;
  /** The requests of one principal, or of one address whose callers are unknown; undefined for any number. */
  readonly requestsPerMinute: number | undefined;
}

const MINUTE_MS = 60_000;

/** Counts a message over a request's connection as one more request of its caller. @throws TooManyRequestsError */
export type CountRequest = (request: FastifyRequest) => Promise<void>;

/**
 * Runs before every route: authenticates the caller, counts the request, and checks whether the call is permitted. Call it before any route is added.
 * A route that is not in the table of calls cannot be added.
 */
export async function guard(app: FastifyInstance, { identify, requestsPerMinute }: GuardOptions): Promise<CountRequest> {
  await app.register(rateLimit, { global: false });
  const assertNotTooMany = createRateLimiter(app, requestsPerMinute);
  app.decorateRequest('caller', undefined);
  app.decorateRequest('isStillKnown', undefined);
  app.addHook('onRoute', assertKnown);
  app.addHook('onRequest', async (request) => {
    if (request.is404) return assertNotTooMany(request);
    const call = findCall(request.method, request.routeOptions.url ?? '');
    if (call === undefined) throw new ForbiddenError('access.no-such-call', `the server has no call ${request.method} ${request.url}`);
    const identity = NEEDS[call] === 'anyone' ? undefined : await identify(request);
    if (identity !== undefined && !(identity instanceof Error)) request.caller = identity;
    // A stream outlasts a token, so it checks again while it runs.
    if (identity !== undefined) request.isStillKnown = async () => !((await identify(request)) instanceof Error);
    await assertNotTooMany(request);
    if (identity instanceof Error) throw identity;
    // Only the route knows the resource's owner: at this point the caller may own it.
    assertPermitted(call, request.caller, request.caller?.principal);
  });
  return assertNotTooMany;
}

function assertKnown({ method, url }: RouteOptions): void {
  const methods = typeof method === 'string' ? [method] : method;
  const unknown = methods.find((each) => findCall(each, url) === undefined);
  if (unknown !== undefined) throw new Error(`${unknown} ${url} is not in the table of calls, so no caller could make it: add it to NEEDS`);
}

function createRateLimiter(app: FastifyInstance, max: number | undefined): CountRequest {
  if (max === undefined) return async () => undefined;
  const count = app.createRateLimit({ max, timeWindow: MINUTE_MS, keyGenerator: buildLimiterKey });
  return async (request) => {
    const state = await count(request);
    if (!state.isAllowed && state.isExceeded) throw createTooManyRequestsError(max, Math.max(1, state.ttlInSeconds));
  };
}

function createTooManyRequestsError(mostPerMinute: number, seconds: number): TooManyRequestsError {
  const remedy = `try again in ${seconds} s, and follow events instead of polling`;
  const what = `more than ${mostPerMinute} requests within a minute (server.requestsPerMinute)`;
  return new TooManyRequestsError('request.too-many', `${what}; ${remedy}`, seconds);
}

/** Names of principals have no spaces in them. */
function buildLimiterKey({ caller, ip }: FastifyRequest): string {
  return caller ? caller.principal : `address ${normalizeIP(ip)}`;
}
