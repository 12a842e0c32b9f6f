import { z } from 'zod';
import { STATISTICS_VERSION } from '../../aggregation/statistics-version.ts';
import type { StoredEvaluation } from '../../evaluation-store/evaluation-record.ts';
import { formatPath } from '../../kernel/documents/path.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import { parseDigest } from '../../kernel/ids.ts';

/**
 * What was accepted, with everything in it that decides the answer: of files only names are left, of contents that this machine keeps. So
 * it can be played, and resumed, whatever becomes of the files that it was made of.
 */

export const digestSchema = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/)
  .transform(parseDigest);

export const contentSchema = z.strictObject({
  /** As the caller gave it. */
  uri: z.string(),
  /** As the caller called it, for people. */
  name: z.string().exactOptional(),
  digest: digestSchema,
  kind: z.enum(['file', 'directory']),
  files: z.array(z.strictObject({ path: z.string(), size: z.int().min(0), digest: digestSchema })),
  labels: z.strictObject({ run: z.string().exactOptional(), version: z.int().exactOptional() }),
});

const common = {
  schema: z.literal('muster.order/1'),
  /** What makes the figures; see `STATISTICS_VERSION`. */
  statistics: z.int().default(1),
  /** As parsed, with its defaults: the rule of the request in place of its own. */
  suite: z.looseObject({ name: z.string(), template: z.string() }),
  /** What the suite's definition came to. A Muster that would make another one of it does not play it. */
  suiteDigest: digestSchema,
  suiteFiles: contentSchema.exactOptional(),
  /** Whether episodes of others may stand in for playing them. */
  cache: z.boolean(),
  /** When it has to end at the latest. */
  deadline: z.iso.datetime().pipe(z.coerce.date()).exactOptional(),
  webhook: z.strictObject({ url: z.string() }).exactOptional(),
};

const termsSchema = z.strictObject({
  confidence: z.number().exactOptional(),
  margin: z.number().exactOptional(),
  budgetEpisodes: z.int().exactOptional(),
});

export const orderSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...common, kind: z.literal('evaluation'), checkpoint: contentSchema }),
  z.strictObject({
    ...common,
    kind: z.literal('comparison'),
    baseline: contentSchema,
    candidates: z.array(contentSchema).min(1),
    terms: termsSchema,
  }),
]);

export type EvaluationOrder = z.infer<typeof orderSchema>;
/** A checkpoint, or the files of a suite, that the content store has. */
export type OrderedContent = z.infer<typeof contentSchema>;

/** All that has to be there for it to be played. */
export function listContents(order: EvaluationOrder): readonly OrderedContent[] {
  return order.suiteFiles ? [...listCheckpoints(order), order.suiteFiles] : listCheckpoints(order);
}

/** What the caller named: the checkpoint, or the baseline and the candidates. */
export function listCheckpoints(order: EvaluationOrder): readonly OrderedContent[] {
  switch (order.kind) {
    case 'evaluation':
      return [order.checkpoint];
    case 'comparison':
      return [order.baseline, ...order.candidates];
  }
}

/** To be played, or to go on. @throws InfrastructureError `store.order` when this Muster does not know it, or would make other figures of it. */
export function parsePlayableOrder(stored: Pick<StoredEvaluation, 'id' | 'request'>): EvaluationOrder {
  const order = parseOrder(stored);
  if (order.statistics === STATISTICS_VERSION) return order;
  throw new InfrastructureError(
    'store.order',
    `evaluation ${stored.id} was accepted under version ${order.statistics} of the statistics, and this Muster computes version ${STATISTICS_VERSION}: it would stop at another episode; ask for the evaluation again`,
  );
}

/** @throws InfrastructureError `store.order` when it is none that this Muster knows. */
export function parseOrder({ id, request }: Pick<StoredEvaluation, 'id' | 'request'>): EvaluationOrder {
  const parsed = orderSchema.safeParse(request);
  if (parsed.success) return parsed.data;
  throw new InfrastructureError(
    'store.order',
    `evaluation ${id} was accepted by another version of Muster, which this one cannot take over from: ${formatProblemsInOneLine(parsed.error)}; play it with that version, or cancel it and ask again`,
  );
}

/** Of a document that a program wrote: which fields are not what was expected. */
function formatProblemsInOneLine(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${formatPath(path.map(toKey))}: ${message}`).join('; ');
}

function toKey(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}
