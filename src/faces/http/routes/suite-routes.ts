import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import type { Library } from '../../../service/orders/library.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';

export const suiteResourceSchema = z
  .strictObject({
    name: z.string().describe('as callers name it'),
    digest: z.string().describe('of what it says now, with its modules: what its episodes are kept under'),
    template: z.string().describe('of the sandboxes that it is played in'),
  })
  .describe('a suite that the server has');

const suiteParamsSchema = z.strictObject({ name: z.string().regex(/^[\w.-]{1,64}$/, 'expected the name of a suite that the server has') });

export function addSuiteRoutes(instance: FastifyInstance, library: Pick<Library, 'orderSuite'>): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/suites/:name',
    {
      schema: {
        summary: 'What a suite is that the server has a name for',
        description:
          'The digest changes when its file or one of its modules does, so asking again by name tells whether the suite is the same.',
        tags: ['evaluations'],
        params: suiteParamsSchema,
        response: { 200: suiteResourceSchema, ...PROBLEMS },
      },
    },
    async ({ params: { name } }, reply) => {
      const { digest, written } = await library.orderSuite(name, undefined, createGoneSignal(reply)).catch(assertFound);
      return { name, digest, template: written.template };
    },
  );
}

/** Throws `suite.not-found` for an unknown suite: here it is the address of a resource, not a wrong part of a request. */
function assertFound(error: unknown): never {
  if (error instanceof InputError && error.code === 'suite.unknown')
    throw new InputError('suite.not-found', error.message, { cause: error });
  throw error;
}
