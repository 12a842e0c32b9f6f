import { z } from 'zod';
import { rankContenders } from '../../aggregation/ranking.ts';
import { summarySchema, type Summary } from '../../orchestrator/results/summary.ts';
import { compareNames, type FoundCheckpoint } from './found-checkpoints.ts';

/** What a watch knows of a run, and remembers when it is started again. */

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

/** Keeps the record of one run on one suite. */
export interface WatchMemory {
  /**
   * No other process watches the run on the suite until it is disposed, or this process has ended.
   *
   * @throws InputError `watch.held` when another process does; InfrastructureError `watch.record`.
   */
  hold(): Promise<AsyncDisposable>;
  /** @throws InputError `watch.record` when what is kept is none; InfrastructureError `watch.record` when it cannot be read. */
  read(): Promise<WatchRecord>;
  /** Takes the place of the one before, as a whole or not at all. */
  write(record: WatchRecord): Promise<void>;
}

/** How a checkpoint stands to the best one before it. */
export type Standing = 'first' | 'better' | 'worse' | 'undecided';

/** By their intervals: a checkpoint is better when its own lies above the best one's. Nothing takes the best one's place by luck alone. */
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

/** With one version of each name: what a name held before is over. */
export function addSettled(record: WatchRecord, { name, fingerprint }: FoundCheckpoint, outcome: Outcome): WatchRecord {
  const others = record.settled.filter((entry) => entry.name !== name);
  return { ...record, settled: [...others, { name, fingerprint, outcome }] };
}

/** What a new watch need not look at again. What could not be played may be mended by now, and one that was skipped for it, or for one that is gone, may be the newest. */
export function omitPassing(record: WatchRecord): WatchRecord {
  const evaluated = record.settled.filter(({ outcome }) => outcome === 'evaluated');
  const isOvertaken = (name: string): boolean => evaluated.some((newer) => compareNames(newer.name, name) > 0);
  const settled = record.settled.filter(({ name, outcome }) => outcome === 'evaluated' || (outcome === 'skipped' && isOvertaken(name)));
  return { ...record, settled };
}

export function isSettled({ settled }: WatchRecord, { name, fingerprint }: FoundCheckpoint): boolean {
  return settled.some((entry) => entry.name === name && entry.fingerprint === fingerprint);
}
