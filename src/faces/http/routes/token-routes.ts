import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { PrincipalUse, QuotaUse } from '../../../service/access/quota-uses.ts';
import type { ListedToken, TokenService } from '../../../service/access/token-service.ts';
import type { AuditTrail, StoredAuditEntry } from '../../../evaluation-store/audit-trail.ts';
import { parseTokenId } from '../../../kernel/ids.ts';
import { requireCaller } from '../requests/caller.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { quotaListSchema, type PrincipalQuotas } from '../schemas/quota-schemas.ts';
import {
  auditPageSchema,
  issuedTokenSchema,
  newTokenSchema,
  pageQuerySchema,
  tokenPageSchema,
  tokenParamsSchema,
  tokenSchema,
  type Token,
} from '../schemas/token-schemas.ts';

/** Creates, lists and revokes a principal's tokens. */
export type TokenServiceFor = (principal: string) => TokenService;

export function addTokenRoutes(instance: FastifyInstance, getTokenService: TokenServiceFor): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/v1/tokens',
    { schema: { summary: 'List tokens', tags: ['access'], querystring: pageQuerySchema, response: { 200: tokenPageSchema, ...PROBLEMS } } },
    async ({ query, caller }) => {
      const { items, next } = await getTokenService(requireCaller(caller).principal).list(query);
      return { items: items.map(toTokenResource), next: next ?? null };
    },
  );
  app.post(
    '/v1/tokens',
    {
      schema: {
        summary: 'Make a token; it is shown this once',
        tags: ['access'],
        body: newTokenSchema,
        response: { 201: issuedTokenSchema, ...PROBLEMS },
      },
    },
    async ({ body, caller }, reply) => {
      const { principal, role, lifetimeSeconds } = body;
      const lifetimeMs = lifetimeSeconds === undefined ? undefined : lifetimeSeconds * 1000;
      const { token, text } = await getTokenService(requireCaller(caller).principal).issue({ principal, role, lifetimeMs });
      reply.header('cache-control', 'no-store');
      return reply.code(201).send({ ...toTokenResource(token), token: text });
    },
  );
  app.delete(
    '/v1/tokens/:id',
    {
      schema: {
        summary: 'Refuse a token from now on',
        tags: ['access'],
        params: tokenParamsSchema,
        response: { 200: tokenSchema, ...PROBLEMS },
      },
    },
    async ({ params, caller }) => toTokenResource(await getTokenService(requireCaller(caller).principal).revoke(parseTokenId(params.id))),
  );
}

export function addAuditRoute(instance: FastifyInstance, audit: Pick<AuditTrail, 'list'>): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/audit',
    {
      schema: {
        summary: 'Who changed what',
        tags: ['access'],
        querystring: pageQuerySchema,
        response: { 200: auditPageSchema, ...PROBLEMS },
      },
    },
    async ({ query }) => {
      const { items, next } = await audit.list(query);
      return { items: items.map(toAuditResource), next: next ?? null };
    },
  );
}

/** @param list returns the use of the caller and of all known principals. */
export function addQuotaRoute(instance: FastifyInstance, list: (caller: string) => Promise<readonly PrincipalUse[]>): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/quotas',
    {
      schema: {
        summary: 'Who uses how much of which quota',
        tags: ['access'],
        response: { 200: quotaListSchema, ...PROBLEMS },
      },
    },
    async ({ caller }) => ({ items: (await list(requireCaller(caller).principal)).map(toQuotaResource) }),
  );
}

function toQuotaResource({ principal, uses }: PrincipalUse): PrincipalQuotas {
  return {
    principal,
    concurrentEpisodes: toUse(uses.concurrentEpisodes),
    waitingEvaluations: toUse(uses.waitingEvaluations),
    checkpointBytes: toUse(uses.checkpointBytes),
    episodesPerDay: toUse(uses.episodesPerDay),
    openEpisodes: toUse(uses.openEpisodes),
  };
}

function toUse({ used, most }: QuotaUse): PrincipalQuotas['waitingEvaluations'] {
  return { used, most: most ?? null };
}

function toAuditResource({
  id,
  at,
  principal,
  action,
  target,
  details,
}: StoredAuditEntry): z.infer<typeof auditPageSchema>['items'][number] {
  return { id, at: at.toISOString(), principal, action, target, details };
}

function toTokenResource({ id, principal, role, createdAt, expiresAt, revokedAt }: ListedToken): Token {
  return {
    id,
    principal,
    role,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
  };
}
