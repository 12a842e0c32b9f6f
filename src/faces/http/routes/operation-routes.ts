import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { PROBLEMS } from '../problems/problem-responses.ts';

/** Why no work should be sent here now; none when all is well. */
export type Readiness = () => Promise<readonly Reason[]>;

export interface Reason {
  /** Stable, for programs. */
  readonly code: string;
  readonly detail: string;
}

const readinessSchema = z.strictObject({
  ready: z.boolean(),
  reasons: z.array(z.strictObject({ code: z.string(), detail: z.string() })).describe('why it is not'),
});

/** Adds liveness and readiness. */
export function addOperationRoutes(instance: FastifyInstance, readiness: Readiness): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/healthz',
    {
      schema: {
        summary: 'Whether the process answers',
        tags: ['operation'],
        response: { 200: z.strictObject({ status: z.literal('ok') }), ...PROBLEMS },
      },
    },
    () => ({ status: 'ok' }) as const,
  );
  app.get(
    '/readyz',
    {
      schema: {
        summary: 'Whether work should be sent here, and why not',
        tags: ['operation'],
        response: { 200: readinessSchema, ...PROBLEMS, 503: readinessSchema },
      },
    },
    async (_request, reply) => {
      const reasons = await readiness();
      const ready = reasons.length === 0;
      return reply.code(ready ? 200 : 503).send({ ready, reasons: [...reasons] });
    },
  );
}
