import type { FastifyInstance } from 'fastify';
import { decodeBounded, JsonProblem, type JsonBounds } from '../../../kernel/json-bounds.ts';
import { RequestInvalidError } from './problem.ts';

/** No suite comes near these bounds. Recursive functions read the body, so its depth is bounded. */
const MOST: Omit<JsonBounds, 'bytes'> = { depth: 64, values: 200_000 };

/** Has JSON bodies measured before they are parsed. @param maxBodyBytes that are taken in at all. */
export function takeJsonBodies(app: FastifyInstance, maxBodyBytes: number): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  const bounds = { bytes: maxBodyBytes, ...MOST };
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      // The parser's own message about invalid JSON is better.
      void parse(request, decodeBounded(Buffer.from(body), bounds), done);
    } catch (error) {
      done(toRefusal(error));
    }
  });
}

function toRefusal(error: unknown): Error {
  if (!(error instanceof JsonProblem)) throw error;
  return new RequestInvalidError('body', [{ path: [], text: error.found, expected: error.expected, isAbsence: false }]);
}
