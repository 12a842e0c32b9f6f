import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { transcriptSchema } from '../../../agents/acting/transcript/transcript.ts';
import type { CheckpointUse } from '../../../service/checkpoints/checkpoint-use.ts';
import { findReadable } from '../../../service/checkpoints/text-readers.ts';
import type { EvaluationService } from '../../../service/evaluation-service.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { findEvaluation } from '../requests/find-evaluation.ts';
import { sendJsonText } from '../requests/stored-bytes.ts';
import { idParamsSchema, wholeNumber } from '../schemas/evaluation-schemas.ts';

const paramsSchema = idParamsSchema.extend({ index: wholeNumber });
const querySchema = z.strictObject({
  arm: wholeNumber.default(0).describe('of a comparison: 0 for the baseline, 1, 2, … for the candidates'),
});

/** The answer for an episode of a policy, which has no transcript. */
const EMPTY = JSON.stringify({ format: 1, steps: [], omitted: 0 });

/** Adds the route of what agents did in the episodes of an evaluation. Programs in the sandbox may have written all of this text. */
export function addTranscriptRoute(
  instance: FastifyInstance,
  { service, use }: { readonly service: EvaluationService; readonly use: Pick<CheckpointUse, 'findUsable'> },
): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/evaluations/:id/transcripts/:index',
    {
      schema: {
        summary: 'What an agent did in one episode: tool calls, what each changed, and the verdict',
        description:
          'Without steps for an episode of a policy, for one that has not ended, and for callers who may not read what its programs printed.',
        tags: ['evaluations'],
        params: paramsSchema,
        querystring: querySchema,
        response: { 200: transcriptSchema, ...PROBLEMS },
      },
    },
    async ({ params, query, caller }, reply) => {
      const evaluation = await findEvaluation(service, params.id);
      const readable = await findReadable(requireCaller(caller), [evaluation], use);
      const text = readable.has(evaluation.id) ? await service.readTranscript(evaluation.id, query.arm, params.index) : undefined;
      return sendJsonText(reply.code(200), text ?? EMPTY);
    },
  );
}
