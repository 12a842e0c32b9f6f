import swagger, { type SwaggerTransform } from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { findCall, NEEDS, type Need } from '../../service/access/permissions.ts';
import { comparisonSummarySchema } from '../../orchestrator/results/comparison-summary.ts';
import { jsonValue } from '../../orchestrator/suite/suite.ts';
import { summarySchema } from '../../orchestrator/results/summary.ts';
import { checkpointSchema } from './schemas/checkpoint-schemas.ts';
import { checkpointReferenceSchema } from './schemas/evaluation-schemas.ts';
import { problemSchema } from './problems/problem.ts';
import { simplifySchemaNames } from './schemas/schema-names.ts';

/** Registers the schemas that the document contains once, and refers to elsewhere. */
function registerSchemas(): z.core.$ZodRegistry<{ id: string }> {
  const registry = z.registry<{ id: string }>();
  registry.add(jsonValue, { id: 'Json' });
  registry.add(problemSchema, { id: 'Problem' });
  registry.add(checkpointReferenceSchema, { id: 'CheckpointReference' });
  registry.add(checkpointSchema, { id: 'Checkpoint' });
  registry.add(summarySchema, { id: 'Summary' });
  registry.add(comparisonSummarySchema, { id: 'ComparisonSummary' });
  return registry;
}

/** Names are separate from descriptions, which are in the schemas themselves. */
const CONVERSION: Pick<z.core.ToJSONSchemaParams, 'unrepresentable' | 'override'> = {
  unrepresentable: 'any',
  override: ({ zodSchema, jsonSchema }) => {
    const { id: _, ...described } = z.globalRegistry.get(zodSchema) ?? {};
    Object.assign(jsonSchema, described);
    // OpenAPI expresses an answer without a body in this way.
    if (zodSchema._zod.def.type === 'undefined') jsonSchema.type = 'null';
  },
};

export interface DocumentationOptions {
  readonly version: string;
  /** Whether callers need tokens. */
  readonly takesTokens: boolean;
}

const BEARER = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'muster_<id>_<secret>',
  description: 'a token that an operator has made with "muster token create", or by POST /v1/tokens',
} as const;

/** Adds the role that a call needs to its description. */
function describeRoles(transform: SwaggerTransform, takesTokens: boolean): SwaggerTransform {
  return (route) => {
    const { schema, url } = transform(route);
    const method = typeof route.route.method === 'string' ? route.route.method : (route.route.method[0] ?? '');
    const call = findCall(method, route.url);
    if (!takesTokens || call === undefined || schema.hide === true) return { schema, url };
    const need: Need = NEEDS[call];
    if (need === 'anyone') return { schema: { ...schema, security: [] }, url };
    const role = typeof need === 'string' ? need : `${need.own} for one's own, ${need.others} for those of others`;
    return { schema: { ...schema, description: `${schema.description ?? ''}\n\nRole: ${role}.`.trim(), security: [{ bearer: [] }] }, url };
  };
}

/** Adds the OpenAPI document at /openapi.json, made of the schemas that validate requests, and a page at /docs that shows it. */
export async function addDocumentation(app: FastifyInstance, { version, takesTokens }: DocumentationOptions): Promise<void> {
  const schemaRegistry = registerSchemas();
  const named = createJsonSchemaTransformObject({ schemaRegistry, zodToJsonConfig: CONVERSION });
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Muster',
        version,
        description: 'Evaluates reinforcement-learning checkpoints in isolated sandboxes. What it has accepted survives its own end.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      tags: [
        { name: 'evaluations', description: 'asking for evaluations and comparisons, and following them' },
        { name: 'checkpoints', description: 'bringing weights' },
        { name: 'pools', description: 'sandboxes' },
        { name: 'access', description: 'who may do what, and who did' },
        { name: 'operation', description: 'for those who run it' },
      ],
      ...(takesTokens ? { components: { securitySchemes: { bearer: BEARER } } } : {}),
    },
    transform: describeRoles(createJsonSchemaTransform({ schemaRegistry, zodToJsonConfig: CONVERSION }), takesTokens),
    transformObject: (document) => simplifySchemaNames<ReturnType<typeof named>>(named(document)),
  });
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: true, theme: { title: 'Muster' } });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
}
