import { z } from 'zod';
import { rankContenders } from '../../aggregation/ranking.ts';
import { summarySchema, type Summary } from '../../orchestrator/results/summary.ts';
import { compareNames, type FoundCheckpoint } from './found-checkpoints.ts';

/** What a watch knows about a run, and remembers across restarts. */

const scoreSchema = z.strictObject({
  name: z.string(),
  uri: z.string(),
  digest: z.string(),
  episodes: z.int(),
  mean: z.number().nullable(),
  interval: summarySchema.shape.official.shape.interval,
});

/** A checkpoint and how it did. */
export type Score = z.infer<typeof scoreSchema>;

const settledSchema = z.strictObject({
  name: z.string(),
  fingerprint: z.string(),
  outcome: z.enum(['evaluated', 'skipped', 'refused']),
});

export const watchRecordSchema = z.strictObject({
  format: z.literal('muster-watch/1'),
  /** Checkpoints that were evaluated, skipped or given up. */
  settled: z.array(settledSchema),
  best: scoreSchema.nullable(),
});

export type WatchRecord = z.infer<typeof watchRecordSchema>;
export type Outcome = z.infer<typeof settledSchema>['outcome'];

export const NOTHING_YET: WatchRecord = { format: 'muster-watch/1', settled: [], best: null };

/** Stores the record of one run on one suite. */
export interface WatchMemory {
  /**
   * Keeps other processes from watching the run on the suite, until the result is disposed or this process has ended.
   *
   * @throws InputError `watch.held` when another process does; InfrastructureError `watch.record`.
   */
  hold(): Promise<AsyncDisposable>;
  /** @throws InputError `watch.record` when the file is no record; InfrastructureError `watch.record` when it cannot be read. */
  read(): Promise<WatchRecord>;
  /** Replaces the previous record completely or not at all. */
  write(record: WatchRecord): Promise<void>;
}

/** A checkpoint's result against the best one before it. */
export type Standing = 'first' | 'better' | 'worse' | 'undecided';

/** Compares intervals: a checkpoint is better when its interval is above the best one's. Luck alone replaces no best checkpoint. */
export function judgeStanding(best: Score | null, fresh: Score): Standing {
  if (best === null) return 'first';
  const place = rankContenders([fresh, best]).places.find(({ contender }) => contender === 0);
  if (place?.worst === 1) return 'better';
  return place?.best === 2 ? 'worse' : 'undecided';
}

export function buildScore(name: string, { official, checkpoint }: Summary): Score {
  const { episodes, mean, interval } = official;
  return { name, uri: checkpoint.uri, digest: official.checkpoint.digest, episodes, mean, interval };
}

/** Adds the outcome of a checkpoint. The outcome of earlier content with the same name is dropped. */
export function addSettled(record: WatchRecord, { name, fingerprint }: FoundCheckpoint, outcome: Outcome): WatchRecord {
  const others = record.settled.filter((entry) => entry.name !== name);
  return { ...record, settled: [...others, { name, fingerprint, outcome }] };
}

/**
 * Omits from the record what a new watch examines again. One that could not be played may have been corrected, and one that was skipped for it, or
 * for one that is gone, may be the newest.
 *
 * @param takesUpSkipped whether all that were skipped are examined again.
 */
export function omitPassing(record: WatchRecord, takesUpSkipped: boolean): WatchRecord {
  const evaluated = record.settled.filter(({ outcome }) => outcome === 'evaluated');
  const isOvertaken = (name: string): boolean => !takesUpSkipped && evaluated.some((newer) => compareNames(newer.name, name) > 0);
  const settled = record.settled.filter(({ name, outcome }) => outcome === 'evaluated' || (outcome === 'skipped' && isOvertaken(name)));
  return { ...record, settled };
}

export function isSettled({ settled }: WatchRecord, { name, fingerprint }: FoundCheckpoint): boolean {
  return settled.some((entry) => entry.name === name && entry.fingerprint === fingerprint);
}
