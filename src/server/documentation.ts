import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { comparisonSummarySchema } from '../orchestrator/comparison-summary.ts';
import { jsonValue } from '../orchestrator/suite.ts';
import { summarySchema } from '../orchestrator/summary.ts';
import { problemSchema } from './problem.ts';

/** Schemas that the document has once and refers to. */
function namedSchemas(): z.core.$ZodRegistry<{ id: string }> {
  const registry = z.registry<{ id: string }>();
  registry.add(jsonValue, { id: 'Json' });
  registry.add(problemSchema, { id: 'Problem' });
  registry.add(summarySchema, { id: 'Summary' });
  registry.add(comparisonSummarySchema, { id: 'ComparisonSummary' });
  return registry;
}

/** Names are kept apart from descriptions, which stand with the schemas themselves. */
const CONVERSION: Pick<z.core.ToJSONSchemaParams, 'unrepresentable' | 'override'> = {
  unrepresentable: 'any',
  override: ({ zodSchema, jsonSchema }) => {
    const { id: _, ...described } = z.globalRegistry.get(zodSchema) ?? {};
    Object.assign(jsonSchema, described);
    // This is how an answer without a body is said.
    if (zodSchema._zod.def.type === 'undefined') jsonSchema.type = 'null';
  },
};

/** The OpenAPI document at /openapi.json, made of the schemas that requests are checked by, and a page to browse it at /docs. */
export async function documentation(app: FastifyInstance, version: string): Promise<void> {
  const schemaRegistry = namedSchemas();
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
        { name: 'pools', description: 'sandboxes' },
        { name: 'operation', description: 'for those who run it' },
      ],
    },
    transform: createJsonSchemaTransform({ schemaRegistry, zodToJsonConfig: CONVERSION }),
    transformObject: createJsonSchemaTransformObject({ schemaRegistry, zodToJsonConfig: CONVERSION }),
  });
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: true, theme: { title: 'Muster' } });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
}
