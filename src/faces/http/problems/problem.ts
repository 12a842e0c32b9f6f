import { z } from 'zod';
import { StepNumberError } from '../../../service/arena/episode-errors.ts';
import { QuotaError } from '../../../service/access/quota-error.ts';
import { InputError, MusterError } from '../../../kernel/errors.ts';
import { UploadOffsetError } from '../../../policy-distribution/uploads/uploads.ts';
import type { Problem } from '../../../kernel/documents/problems.ts';
import { formatPath } from '../../../kernel/documents/path.ts';
import { ForbiddenError, MethodNotAllowedError, TooManyRequestsError, UnauthenticatedError } from './refusals.ts';

const fieldProblemSchema = z.strictObject({
  field: z.string().describe('where in the request: body.suite.reward.bounds'),
  detail: z.string().describe('what was wrong, in words'),
  expected: z.string().optional().describe('what should stand there, where it can be said by itself: a whole number from 1 on'),
});

export type FieldProblem = z.infer<typeof fieldProblemSchema>;

/** RFC 9457: what went wrong, for programs (`code`) and people (`detail`). */
export const problemSchema = z
  .strictObject({
    type: z.literal('about:blank'),
    title: z.string().describe('of the status'),
    status: z.int(),
    code: z.string().describe('stable, for programs'),
    detail: z.string().describe('what was wrong, what was expected and what to do'),
    errors: z.array(fieldProblemSchema).optional().describe('each field that is wrong'),
  })
  .describe('Problem');

export type ProblemDocument = z.infer<typeof problemSchema>;

export const PROBLEM_TYPE = 'application/problem+json';

/** A request that its schema does not allow. */
export class RequestInvalidError extends InputError {
  readonly problems: readonly Problem[];

  /** @param part of the request: `body`, `querystring`, … */
  constructor(part: string, problems: readonly Problem[]) {
    const within = problems.map(({ path, ...rest }) => ({ path: [part, ...path], ...rest }));
    super('request.invalid', within.map(({ path, text }) => `${formatPath(path)}: ${text}`).join('\n'));
    this.problems = within;
  }
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

export function createProblem(status: number, code: string, detail: string): ProblemDocument {
  return { type: 'about:blank', title: TITLES[status] ?? 'Error', status, code, detail };
}

/** Refusals of fastify itself, by its codes. */
const FASTIFY_CODES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: 'request.body',
  FST_ERR_CTP_INVALID_JSON_BODY: 'request.body',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'request.body',
};

const EXPECTED_MEDIA_TYPE = 'header content-type: not one that this call takes; expected application/json';

/** Returns the problem for any thrown value. Details of a defect are for the log, not for callers. */
export function toProblem(error: unknown): ProblemDocument {
  if (error instanceof RequestInvalidError) {
    const errors = error.problems.map(({ path, text, expected }) => ({
      field: formatPath(path),
      detail: text,
      ...(expected === undefined ? {} : { expected }),
    }));
    return { ...createProblem(400, error.code, error.message), errors };
  }
  if (error instanceof StepNumberError) {
    const errors = [{ field: 'body.step', detail: error.message, expected: String(error.expected) }];
    return { ...createProblem(409, error.code, error.message), errors };
  }
  if (error instanceof MusterError) return createProblem(parseStatus(error), error.code, error.message);
  const { status, code } = toFastifyProblem(error);
  if (status >= 500) return createProblem(500, 'muster.defect', 'a defect of Muster; its log says more');
  if (status === 415) return createProblem(status, 'request.media-type', EXPECTED_MEDIA_TYPE);
  return createProblem(
    status,
    FASTIFY_CODES[code] ?? 'request.invalid',
    error instanceof Error ? error.message : 'the request is not valid',
  );
}

function parseStatus(error: MusterError): number {
  switch (error.kind) {
    case 'input':
      return getRefusalStatus(error);
    case 'infrastructure':
      return 503;
  }
}

const STATUSES: Readonly<Record<string, number>> = {
  'episode.files': 409,
  'episode.open': 409,
  'episode.over': 409,
  'checkpoint.too-large': 413,
  'grant.not-yours': 403,
  'token.unknown': 404,
  'step.conflict': 409,
  'step.gap': 409,
  'upload.superseded': 409,
};

function getRefusalStatus(error: MusterError): number {
  if (error instanceof UnauthenticatedError) return 401;
  if (error instanceof ForbiddenError) return 403;
  if (error instanceof QuotaError || error instanceof TooManyRequestsError) return 429;
  if (error instanceof MethodNotAllowedError) return 405;
  if (error instanceof UploadOffsetError) return 409;
  const { code } = error;
  if (code.endsWith('.not-found')) return 404;
  return STATUSES[code] ?? (code.endsWith('.conflict') ? 409 : 422);
}

function toFastifyProblem(error: unknown): { readonly status: number; readonly code: string } {
  if (!(error instanceof Error)) return { status: 500, code: '' };
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  return { status, code: 'code' in error && typeof error.code === 'string' ? error.code : '' };
}
