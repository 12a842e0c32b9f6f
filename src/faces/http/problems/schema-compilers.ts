import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { KnownSettings } from '../../../kernel/documents/known-settings.ts';
import { listProblems } from '../../../kernel/documents/problems.ts';
import { RequestInvalidError } from './problem.ts';

/**
 * Checks requests and responses by the zod schemas of their routes. A response is sent unchanged: parsing would change the order of its members, and
 * an official result is the same byte for byte wherever it is read.
 */
export function checkBySchemas(app: FastifyInstance): void {
  app.setValidatorCompiler<z.ZodType>(({ schema, httpPart = 'request' }) => {
    const known = new KnownSettings(schema);
    return (data: unknown) => {
      const result = schema.safeParse(data);
      if (result.success) return { value: result.data };
      return { error: new RequestInvalidError(httpPart === 'querystring' ? 'query' : httpPart, listProblems(result.error, data, known)) };
    };
  });
  app.setSerializerCompiler<z.ZodType>(({ schema, method, url }) => (data: unknown) => {
    const result = schema.safeParse(data);
    if (result.success) return JSON.stringify(data);
    throw new InfrastructureError('server.response', `${method} ${url}: ${z.prettifyError(result.error)}`);
  });
}

/** Names a request in the log and in figures by its route, never by what a caller wrote. */
export function formatRoute({ method, routeOptions }: FastifyRequest): string {
  return `${method} ${routeOptions.url ?? '(none)'}`;
}
