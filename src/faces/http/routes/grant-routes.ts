import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { StoredGrant } from '../../../evaluation-store/checkpoint-rights.ts';
import { parseDigest } from '../../../kernel/ids.ts';
import { getDigestHex } from '../../../policy-distribution/checkpoint.ts';
import type { GrantService } from '../../../service/checkpoints/grant-service.ts';
import { requireCaller } from '../requests/caller.ts';
import { checkpointParamsSchema } from '../schemas/checkpoint-schemas.ts';
import { grantListSchema, grantParamsSchema, grantSchema, newGrantSchema, type Grant } from '../schemas/grant-schemas.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';

const ROUTE = '/v1/checkpoints/:sha256/grants';

/** Adds the calls that let other principals use a checkpoint. */
export function addGrantRoutes(instance: FastifyInstance, grants: GrantService): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    ROUTE,
    {
      schema: {
        summary: 'The principals that you let use a checkpoint',
        description: 'For the principals that sent it. An operator sees all grants.',
        tags: ['checkpoints'],
        params: checkpointParamsSchema,
        response: { 200: grantListSchema, ...PROBLEMS },
      },
    },
    async ({ params, caller }) => ({ items: (await grants.list(parseSha256(params), requireCaller(caller))).map(grantResource) }),
  );
  app.post(
    ROUTE,
    {
      schema: {
        summary: 'Let another principal use a checkpoint',
        description: 'For the principals that sent it, and for operators. Repeating a grant changes nothing.',
        tags: ['checkpoints'],
        params: checkpointParamsSchema,
        body: newGrantSchema,
        response: { 201: grantSchema, ...PROBLEMS },
      },
    },
    async ({ params, body, caller }, reply) => {
      const grant = await grants.grant(parseSha256(params), body.principal, requireCaller(caller));
      return reply.code(201).send(grantResource(grant));
    },
  );
  app.delete(
    `${ROUTE}/:principal`,
    {
      schema: {
        summary: 'Take back that a principal may use a checkpoint',
        description: 'Takes back the grants that you made; as an operator, those of all principals. Accepted evaluations are still played.',
        tags: ['checkpoints'],
        params: grantParamsSchema,
        response: { 200: grantListSchema.describe('the revoked grants: none when there was no such grant'), ...PROBLEMS },
      },
    },
    async ({ params, caller }) => {
      const revoked = await grants.revoke(parseSha256(params), params.principal, requireCaller(caller));
      return { items: revoked.map(grantResource) };
    },
  );
}

function parseSha256({ sha256 }: { readonly sha256: string }): ReturnType<typeof parseDigest> {
  return parseDigest(`sha256:${sha256}`);
}

function grantResource({ digest, principal, grantedBy, at }: StoredGrant): Grant {
  return { sha256: getDigestHex(digest), principal, grantedBy, at: at.toISOString() };
}
