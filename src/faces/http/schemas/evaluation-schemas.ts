import type { Readable } from 'node:stream';
import { z } from 'zod';
import { EVALUATION_STATES } from '../../../evaluation-store/evaluation-record.ts';
import { confidenceSchema, stopOverrideSchema, suiteSchema } from '../../../orchestrator/suite/suite.ts';
import type { CheckpointReference } from '../../../service/orders/library.ts';
import { runningFiguresSchema } from '../../../service/orders/running-figures.ts';

/** What callers send and receive about evaluations: the only definition, from which validation, types and the OpenAPI document are made. */

/** PostgreSQL cannot store U+0000, and no caller means it. Written so that the patterns of the OpenAPI document are understood by others than JavaScript. */
const NO_NUL = String.raw`[^\u0000]`;
const text = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(new RegExp(`^${NO_NUL}*$`), 'expected text without NUL characters');

const runSchema = text(200).describe('the training run that it belongs to');
const nameSchema = z
  .string()
  .min(1)
  .max(255)
  .regex(new RegExp(String.raw`^[^\u0000-\u001f\u007f-\u009f]*$`), 'expected text without control characters')
  .describe('what lists show it by, such as the name of its file; decides nothing, and is no part of what the Idempotency-Key stands for');
const versionSchema = z.int().min(0).describe('training step of the run');

export const checkpointReferenceSchema = z
  .strictObject(
    {
      uri: text(4096)
        .exactOptional()
        .describe("https://…, or a file: URL or absolute path on the server's machine, as far as the server's `sources` allow"),
      sha256: z
        .string()
        .regex(/^(sha256:)?[0-9a-f]{64}$/, 'expected 64 lower-case hexadecimal digits')
        .exactOptional()
        .describe('of a checkpoint that the server has from `PUT /v1/checkpoints/{sha256}`; with or without `sha256:`'),
      name: nameSchema.exactOptional(),
      run: runSchema.exactOptional(),
      version: versionSchema.exactOptional(),
    },
    { error: ({ code }) => (code === 'invalid_type' ? 'expected { "uri": "https://…" } or { "sha256": "…" }' : undefined) },
  )
  .transform(({ uri, sha256, ...labels }, context): CheckpointReference => {
    if (uri !== undefined && sha256 === undefined) return { uri, ...labels };
    if (sha256 !== undefined && uri === undefined) return { sha256, ...labels };
    context.addIssue({ code: 'custom', message: 'expected either "uri" or "sha256"' });
    return z.NEVER;
  })
  .meta({
    description: 'a checkpoint: where it is (`uri`), or what it contains (`sha256`)',
    // Required by the transformation above.
    oneOf: [{ required: ['uri'] }, { required: ['sha256'] }],
  });

export const suiteReferenceSchema = z
  .union([z.string().regex(/^[\w.-]{1,64}$/, 'expected the name of a suite that the server has'), suiteSchema])
  .describe('the name of a suite that the server has, or a suite');

const labelName = z.string().regex(/^[\w.-]{1,64}$/, 'expected 1 to 64 letters, digits, ".", "_" or "-"');

const asked = {
  suite: suiteReferenceSchema,
  priority: z
    .int()
    .min(-100)
    .max(100)
    .default(0)
    .describe("higher ones come first among the caller's own; between callers sandboxes are shared out evenly"),
  deadline: z.iso
    .datetime({ offset: true })
    .pipe(z.coerce.date())
    .exactOptional()
    .describe('when it has to end at the latest: what was played by then is kept, labelled partial'),
  webhook: z
    .strictObject({ url: z.url({ protocol: /^https?$/ }).max(2048) })
    .exactOptional()
    .describe('called when it is over'),
  labels: z
    .record(labelName, text(256))
    .refine((labels) => Object.keys(labels).length <= 32, 'expected 32 labels at most')
    .default({})
    .describe('names and values of the caller’s own, by which evaluations are found'),
  cache: z.enum(['on', 'off']).default('on').describe('off: every episode is played again, and none is reused for other evaluations'),
};

export const newEvaluationSchema = z
  .strictObject({
    checkpoint: checkpointReferenceSchema,
    baseline: checkpointReferenceSchema.exactOptional().describe('makes it a comparison of the checkpoint with this one'),
    stop: stopOverrideSchema.exactOptional(),
    ...asked,
  })
  .describe('NewEvaluation');

export const newComparisonSchema = z
  .strictObject({
    baseline: checkpointReferenceSchema,
    candidates: z.array(checkpointReferenceSchema).min(1).max(64),
    confidence: confidenceSchema.exactOptional().describe("probability that no verdict is wrong; the suite's own when left out"),
    margin: z.number().min(0).exactOptional().describe('mean differences up to it do not matter; in units of the return'),
    budgetEpisodes: z.int().min(2).max(100_000_000).exactOptional().describe('most episodes of all checkpoints together'),
    ...asked,
  })
  .describe('NewComparison');

const timestamp = z.iso.datetime();

/** Describes the summary without validating it: copying it through a schema would change its order (schema-compilers.ts). */
const summary = z.unknown().meta({
  description: 'the answer, perhaps a partial one; null before the end, and after one that left no answer',
  anyOf: [{ $ref: '#/components/schemas/Summary' }, { $ref: '#/components/schemas/ComparisonSummary' }, { type: 'null' }],
});

const checkpointSchema = z.strictObject({
  part: z.enum(['subject', 'baseline', 'candidate']),
  uri: z.string(),
  digest: z.string(),
  name: z.string().exactOptional().describe('as the caller named it'),
});

const item = {
  id: z.string(),
  kind: z.enum(['evaluation', 'comparison']),
  state: z.enum(EVALUATION_STATES),
  principal: z.string().describe('who asked'),
  suite: z.string(),
  checkpoints: z.array(checkpointSchema),
  run: z.string().nullable(),
  version: z.int().nullable(),
  labels: z.record(z.string(), z.string()),
  priority: z.int(),
  createdAt: timestamp,
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
  cancelRequestedAt: timestamp.nullable(),
  running: runningFiguresSchema.nullable().describe('the latest figures while it is played; null before'),
  failure: z
    .strictObject({
      kind: z
        .enum(['input', 'infrastructure'])
        .describe('input: the request has to be corrected; infrastructure: the same may succeed later'),
      code: z.string(),
      message: z.string(),
    })
    .nullable()
    .describe('why there is no answer, or only a partial one'),
  withheld: z
    .boolean()
    .describe(
      'whether text was left out that a program inside can have written, as you may not use all of the checkpoints: failure.message, and of the summary run.errors[].detail, run.remarks and the warnings made of them',
    ),
  links: z.strictObject({ self: z.string(), events: z.string(), episodes: z.string() }),
};

export const evaluationItemSchema = z.strictObject(item).describe('an evaluation or comparison in a list: without its summary');
export const evaluationSchema = z.strictObject({ ...item, summary }).describe('an evaluation or comparison');
export const evaluationPageSchema = z.strictObject({
  items: z.array(evaluationItemSchema).describe('latest first'),
  next: z.string().nullable().describe('what to give as `after` for the next page; null at the end'),
});

export type EvaluationItem = z.infer<typeof evaluationItemSchema>;
export type EvaluationResource = z.infer<typeof evaluationSchema>;

export const idParamsSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'expected the id of an evaluation'),
});

export const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number from 0 on')
  .transform(Number);

export const waitQuerySchema = z.strictObject({
  wait: wholeNumber.exactOptional().describe('seconds to wait for the end before answering'),
});

export const listQuerySchema = z.strictObject({
  run: text(200).exactOptional(),
  suite: text(64).exactOptional(),
  state: z
    .string()
    .transform((list) => list.split(','))
    .pipe(z.array(z.enum(EVALUATION_STATES)))
    .exactOptional()
    .describe('one or several, with commas between'),
  label: z
    .string()
    .regex(new RegExp(String.raw`^[\w.-]{1,64}=${NO_NUL}{1,256}$`), 'expected NAME=VALUE')
    .exactOptional(),
  principal: text(63).exactOptional(),
  from: z.iso.datetime({ offset: true }).pipe(z.coerce.date()).exactOptional().describe('accepted at this time or later'),
  before: z.iso.datetime({ offset: true }).pipe(z.coerce.date()).exactOptional().describe('accepted before this time'),
  limit: wholeNumber.pipe(z.int().min(1).max(200)).default(50),
  after: text(200).exactOptional().describe('`next` of the page before'),
});

export const textSchema = z.string();

/** A stream of text: it is not checked while it flows. */
export const textStreamSchema = z.custom<Readable>().meta({ type: 'string' });

/** The same, as what each server-sent event is made of. */
export const eventStreamSchema = describeEventStream(['state', 'progress', 'verdict']);

/** @param types of its events. */
export function describeEventStream(types: readonly string[]): z.ZodType<Readable> {
  return z.custom<Readable>().meta({
    type: 'object',
    description: 'one event of the stream',
    properties: {
      id: { type: 'string', description: 'its sequence, without a gap' },
      event: { enum: types },
      data: { type: 'string', contentMediaType: 'application/json', description: '{ sequence, type, at, data }' },
    },
  });
}

export const eventsQuerySchema = z.strictObject({
  after: wholeNumber.exactOptional().describe('sequence of the last event seen; as the header Last-Event-ID, which goes first'),
});
