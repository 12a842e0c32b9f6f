import { z } from 'zod';
import { isMapping } from '../../kernel/documents/path.ts';
import { comparisonSummarySchema } from './comparison-summary.ts';
import type { RunFacts } from '../facts/run-facts.ts';
import { summarySchema, type CheckpointFacts } from './summary.ts';

/** All of it is looked at: an answer that another Muster has put together may lack what this one says, or say more. */
const givenSchema = z.discriminatedUnion('schema', [summarySchema, comparisonSummarySchema]);

type Given = z.infer<typeof givenSchema>;

/** Values that stay the same are read once. */
const looked = new WeakMap<object, Given>();

function parseGiven(given: unknown): Given | undefined {
  const known = isMapping(given) ? looked.get(given) : undefined;
  if (known) return known;
  const { data } = givenSchema.safeParse(given);
  if (data && isMapping(given)) looked.set(given, data);
  return data;
}

/** Where the checkpoints of the question come from this time; the member of the summary is that of its kind. */
export type QuestionCheckpoints =
  | { readonly checkpoint: CheckpointFacts }
  | { readonly baseline: CheckpointFacts & { readonly recorded: false }; readonly candidates: readonly CheckpointFacts[] };

export type RepeatedRun = Pick<RunFacts, 'startedAt' | 'seconds'>;

/**
 * An answer for another caller with the same question: the official part stays the same, byte for byte, with what was said of the episodes; the run is
 * one that took all of them from the store.
 *
 * @param given a summary as it was stored. @returns undefined when it is no whole one that this Muster would give.
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
    // Where the episodes were played, and what was enforced there.
    pool: { ...run.pool, created: 0, destroyed: 0, died: 0, failed: 0, swept: 0 },
  };
  return { ...given, ...asked, run: repeated };
}
