import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Idempotency } from '../../../evaluation-store/evaluation-catalogue.ts';
import { formatCanonicalJson, digestBytes } from '../../../kernel/canonical-json.ts';
import { isMapping } from '../../../kernel/documents/path.ts';
import { InputError } from '../../../kernel/errors.ts';
import type { Submission, Terms } from '../../../service/acceptance/submission.ts';
import type { EvaluationService } from '../../../service/evaluation-service.ts';
import { isOver } from '../../../service/orders/is-over.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import {
  type EvaluationResource,
  evaluationSchema,
  newComparisonSchema,
  newEvaluationSchema,
  waitQuerySchema,
} from '../schemas/evaluation-schemas.ts';
import { omitNames } from '../schemas/nameless.ts';
import { toEvaluationResource } from './evaluation-resource.ts';

export interface SubmissionRoutesOptions {
  readonly service: EvaluationService;
  readonly maxWaitSeconds: number;
}

const submitHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'expected 1 to 255 visible ASCII characters')
    .optional()
    .describe('sent again with the same key, it is the same request'),
});

const accepted = {
  200: evaluationSchema.describe('it is over: by the wait, or it was asked for before'),
  202: evaluationSchema.describe('it was accepted, and will be played whatever happens to this server'),
};

export function addSubmissionRoutes(instance: FastifyInstance, options: SubmissionRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.post(
    '/v1/evaluations',
    {
      schema: {
        summary: 'Evaluate a checkpoint on a suite',
        tags: ['evaluations'],
        headers: submitHeaders,
        querystring: waitQuerySchema,
        body: newEvaluationSchema,
        response: { ...accepted, ...PROBLEMS },
      },
    },
    (request, reply) => submit(options, { request, reply, waitSeconds: request.query.wait }, toEvaluationSubmission(request.body)),
  );
  app.post(
    '/v1/comparisons',
    {
      schema: {
        summary: 'Compare candidates with a baseline',
        tags: ['evaluations'],
        headers: submitHeaders,
        querystring: waitQuerySchema,
        body: newComparisonSchema,
        response: { ...accepted, ...PROBLEMS },
      },
    },
    (request, reply) => submit(options, { request, reply, waitSeconds: request.query.wait }, toComparisonSubmission(request.body)),
  );
}

interface Asking {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly waitSeconds: number | undefined;
}

async function submit(
  { service, maxWaitSeconds }: SubmissionRoutesOptions,
  { request, reply, waitSeconds = 0 }: Asking,
  submission: Submission,
): Promise<EvaluationResource> {
  if (waitSeconds > maxWaitSeconds)
    throw new InputError(
      'request.wait',
      `query.wait: expected ${maxWaitSeconds} seconds at most (server.maxWaitSeconds), got ${waitSeconds}`,
    );
  const gone = createGoneSignal(reply);
  const acceptance = await service.submit(submission, requireCaller(request.caller).principal, gone, getIdempotency(request));
  const { id } = acceptance.evaluation;
  if (acceptance.kind === 'conflict')
    throw new InputError('idempotency.conflict', `Idempotency-Key: it was used for another request, ${id}; use a new key for each request`);
  const isWaitedFor = waitSeconds > 0 && !isOver(acceptance.evaluation);
  const evaluation = isWaitedFor ? await service.waitUntilOver(id, waitSeconds * 1000, gone, acceptance.evaluation) : acceptance.evaluation;
  const current = evaluation ?? acceptance.evaluation;
  reply.header('location', `/v1/evaluations/${id}`).code(isOver(current) ? 200 : 202);
  return toEvaluationResource(current);
}

function getIdempotency({ headers, body, routeOptions }: FastifyRequest): Idempotency | undefined {
  const key = headers['idempotency-key'];
  const asked = isMapping(body) ? omitNames(body) : body;
  return typeof key === 'string' ? { key, fingerprint: digestBytes(formatCanonicalJson([routeOptions.url, asked])) } : undefined;
}

type NewEvaluation = z.infer<typeof newEvaluationSchema>;
type NewComparison = z.infer<typeof newComparisonSchema>;

function toEvaluationSubmission({ checkpoint, baseline, stop, ...asked }: NewEvaluation): Submission {
  const question: Submission['question'] =
    baseline === undefined ? { kind: 'evaluation', checkpoint } : { kind: 'comparison', baseline, candidates: [checkpoint], terms: {} };
  return { ...toCommonFields(asked), question, stop };
}

function toComparisonSubmission({ baseline, candidates, confidence, margin, budgetEpisodes, ...asked }: NewComparison): Submission {
  const terms: Terms = {
    ...(confidence === undefined ? {} : { confidence }),
    ...(margin === undefined ? {} : { margin }),
    ...(budgetEpisodes === undefined ? {} : { budgetEpisodes }),
  };
  return { ...toCommonFields(asked), question: { kind: 'comparison', baseline, candidates, terms } };
}

function toCommonFields({
  suite,
  priority,
  deadline,
  webhook,
  labels,
  cache,
}: Omit<NewEvaluation, 'checkpoint' | 'baseline' | 'stop'>): Omit<Submission, 'question'> {
  return { suite, priority, labels, webhook, cache: cache === 'on', deadline };
}
