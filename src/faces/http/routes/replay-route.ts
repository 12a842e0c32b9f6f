import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { replaySchema } from '../../../orchestrator/replay/replay-document.ts';
import type { EvaluationService } from '../../../service/evaluation-service.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { assertPermitted } from '../problems/refusals.ts';
import { requireCaller } from '../requests/caller.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import type { StreamRoom } from '../requests/stream-room.ts';
import { idParamsSchema } from '../schemas/evaluation-schemas.ts';
import { findEvaluation } from '../requests/find-evaluation.ts';

const bodySchema = z.strictObject({
  index: z.int().min(0).describe('of the episode'),
  arm: z.int().min(0).default(0).describe('of a comparison: 0 for the baseline, 1, 2, … for the candidates'),
});

/** Plays one episode again. It counts as a stream: it takes a sandbox and has a long answer. */
export function addReplayRoute(
  instance: FastifyInstance,
  { service, room }: { readonly service: Pick<EvaluationService, 'find' | 'replay'>; readonly room: StreamRoom },
): void {
  instance.withTypeProvider<ZodTypeProvider>().post(
    '/v1/evaluations/:id/replays',
    {
      schema: {
        summary: 'Play one episode again, alone, and record its rewards and, where the environment renders, pictures',
        tags: ['evaluations'],
        params: idParamsSchema,
        body: bodySchema,
        response: { 200: replaySchema, ...PROBLEMS },
      },
    },
    async ({ params, body, caller: asking }, reply) => {
      const caller = requireCaller(asking);
      const evaluation = await findEvaluation(service, params.id);
      assertPermitted('POST /v1/evaluations/{id}/replays', caller, evaluation.principal);
      room.take(caller.principal, reply);
      return await service.replay(evaluation, body, createGoneSignal(reply));
    },
  );
}
