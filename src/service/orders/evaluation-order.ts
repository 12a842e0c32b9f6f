import { z } from 'zod';
import { STATISTICS_VERSION } from '../../aggregation/statistics-version.ts';
import type { StoredEvaluation } from '../../evaluation-store/evaluation-record.ts';
import { formatPath } from '../../kernel/documents/path.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import { parseDigest } from '../../kernel/ids.ts';

/**
 * The accepted order, with everything in it that decides the answer. Instead of files it names stored contents, so it can be played and resumed
 * whatever happens to the original files.
 */

export const digestSchema = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/)
  .transform(parseDigest);

export const contentSchema = z.strictObject({
  /** The URI as the caller wrote it. */
  uri: z.string(),
  /** The caller's own name for it, for people. */
  name: z.string().exactOptional(),
  digest: digestSchema,
  kind: z.enum(['file', 'directory']),
  files: z.array(z.strictObject({ path: z.string(), size: z.int().min(0), digest: digestSchema })),
  labels: z.strictObject({ run: z.string().exactOptional(), version: z.int().exactOptional() }),
});

const common = {
  schema: z.literal('muster.order/1'),
  /** Version of the code that computes the figures; see `STATISTICS_VERSION`. */
  statistics: z.int().default(1),
  /** The parsed suite, with its defaults. The request's rule replaces the suite's own. */
  suite: z.looseObject({ name: z.string(), template: z.string() }),
  /** Digest of the suite's definition. A Muster that would derive another one does not play it. */
  suiteDigest: digestSchema,
  suiteFiles: contentSchema.exactOptional(),
  /** Whether known episodes of other evaluations may be used instead of playing them. */
  cache: z.boolean(),
  /** The time at which it has to end at the latest. */
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

/** Lists all contents that are needed to play it. */
export function listContents(order: EvaluationOrder): readonly OrderedContent[] {
  return order.suiteFiles ? [...listCheckpoints(order), order.suiteFiles] : listCheckpoints(order);
}

/** Lists what the caller named: the checkpoint, or the baseline and the candidates. */
export function listCheckpoints(order: EvaluationOrder): readonly OrderedContent[] {
  switch (order.kind) {
    case 'evaluation':
      return [order.checkpoint];
    case 'comparison':
      return [order.baseline, ...order.candidates];
  }
}

/**
 * Parses an order that is to be played or resumed. @throws InfrastructureError `store.order` when this version of Muster does not know it, or would
 * compute other figures.
 */
export function parsePlayableOrder(stored: Pick<StoredEvaluation, 'id' | 'request'>): EvaluationOrder {
  const order = parseOrder(stored);
  if (order.statistics === STATISTICS_VERSION) return order;
  throw new InfrastructureError(
    'store.order',
    `evaluation ${stored.id} was accepted under version ${order.statistics} of the statistics, and this Muster computes version ${STATISTICS_VERSION}: it would stop at another episode; request the evaluation again`,
  );
}

/** @throws InfrastructureError `store.order` when it is none that this Muster knows. */
export function parseOrder({ id, request }: Pick<StoredEvaluation, 'id' | 'request'>): EvaluationOrder {
  const parsed = orderSchema.safeParse(request);
  if (parsed.success) return parsed.data;
  throw new InfrastructureError(
    'store.order',
    `evaluation ${id} was accepted by another version of Muster, which this one cannot take over from: ${formatProblemsInOneLine(parsed.error)}; play it with that version, or cancel it and request it again`,
  );
}

/** Formats the unexpected fields of a document that a program wrote. */
function formatProblemsInOneLine(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${formatPath(path.map(toKey))}: ${message}`).join('; ');
}

function toKey(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}
