import { z } from 'zod';
import { isMapping } from '../../kernel/documents/path.ts';
import { comparisonSummarySchema } from './comparison-summary.ts';
import type { RunFacts } from '../facts/run-facts.ts';
import { summarySchema, type CheckpointFacts } from './summary.ts';

/** The schema checks every field: an answer of another version of Muster may lack fields or have more of them. */
const givenSchema = z.discriminatedUnion('schema', [summarySchema, comparisonSummarySchema]);

type Given = z.infer<typeof givenSchema>;

/** An answer that is repeated often is parsed once. */
const parsed = new WeakMap<object, Given>();

function parseGiven(given: unknown): Given | undefined {
  const known = isMapping(given) ? parsed.get(given) : undefined;
  if (known) return known;
  const { data } = givenSchema.safeParse(given);
  if (data && isMapping(given)) parsed.set(given, data);
  return data;
}

/** Where this request's checkpoints come from. The names of the fields depend on the kind of the summary. */
export type QuestionCheckpoints =
  | { readonly checkpoint: CheckpointFacts }
  | { readonly baseline: CheckpointFacts & { readonly recorded: false }; readonly candidates: readonly CheckpointFacts[] };

export type RepeatedRun = Pick<RunFacts, 'startedAt' | 'seconds'>;

/**
 * Makes the answer for another caller with the same question. The official part, and the remarks on episodes, stay the same byte for byte. The
 * facts of the run say that all episodes came from the store.
 *
 * @param given a stored summary. @returns undefined when it is not a complete summary of this version of Muster.
 */
export function repeatSummary(given: unknown, asked: QuestionCheckpoints, { startedAt, seconds }: RepeatedRun): object | undefined {
  const data = parseGiven(given);
  if (!data || data.partial || !isMapping(given)) return undefined;
  const { run } = data;
  const repeated: RunFacts = {
    startedAt,
    seconds,
    episodesPerSecond: 0,
    episodeSeconds: null,
    ...(run.sharedFailures === undefined ? {} : { sharedFailures: run.sharedFailures }),
    ...(run.remarks === undefined ? {} : { remarks: run.remarks }),
    sandboxSeconds: 0,
    cost: run.cost === null ? null : 0,
    outcomes: 0,
    recalled: run.outcomes + (run.recalled ?? 0),
    surplus: run.surplus,
    retried: 0,
    duplicated: 0,
    nonDeterministic: run.nonDeterministic,
    // The machine where the episodes were played, and the limits that were enforced there.
    pool: { ...run.pool, created: 0, destroyed: 0, died: 0, failed: 0, swept: 0 },
  };
  return { ...given, ...asked, run: repeated };
}
