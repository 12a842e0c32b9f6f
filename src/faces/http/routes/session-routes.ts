import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ROLES } from '../../../evaluation-store/tokens.ts';
import type { Caller } from '../../../service/access/caller.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { formatEndedSessionCookie, formatSessionCookie } from '../requests/session-cookie.ts';

const sessionSchema = z
  .strictObject({
    principal: z.string(),
    role: z.enum(ROLES),
    access: z.enum(['tokens', 'off']).describe('off: every caller on the machine of the server is its operator'),
    version: z.string().describe('of Muster'),
  })
  .describe('who reads the page');

type Session = z.infer<typeof sessionSchema>;

/** Adds the calls that begin and end the session of a browser. Other callers need none. */
export function addSessionRoutes(instance: FastifyInstance, version: string): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/v1/session',
    { schema: { summary: 'Who the caller is', tags: ['access'], response: { 200: sessionSchema, ...PROBLEMS } } },
    ({ caller }) => toSession(requireCaller(caller), version),
  );
  app.post(
    '/v1/session',
    {
      schema: {
        summary: 'Keep the token of this request in a cookie, for the page',
        tags: ['access'],
        response: { 200: sessionSchema, ...PROBLEMS },
      },
    },
    (request, reply) => {
      const { authorization } = request.headers;
      const caller = requireCaller(request.caller);
      if (authorization !== undefined && caller.token !== undefined)
        reply.header('set-cookie', formatSessionCookie(authorization, isSecure(request)));
      return toSession(caller, version);
    },
  );
  app.delete(
    '/v1/session',
    { schema: { summary: 'Have the browser forget the token', tags: ['access'], response: { 204: z.undefined(), ...PROBLEMS } } },
    async (request, reply) =>
      reply
        .header('set-cookie', formatEndedSessionCookie(isSecure(request)))
        .code(204)
        .send(undefined),
  );
}

function toSession({ principal, role, token }: Caller, version: string): Session {
  return { principal, role, access: token === undefined ? 'off' : 'tokens', version };
}

/** A proxy in front of the server may use TLS in its place, and says so in a header. */
function isSecure({ headers, protocol }: FastifyRequest): boolean {
  return protocol === 'https' || headers['x-forwarded-proto'] === 'https';
}
