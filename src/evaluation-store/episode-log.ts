import type { EpisodeIndex, EvaluationId } from '../kernel/ids.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { SandboxUsage } from '../kernel/sandbox-usage.ts';
import type { Ownership } from './ownership.ts';
import type { CacheKey } from './cache-key.ts';

/** The data that counts an episode without playing it again. Its seeds follow from the index. */
export interface StoredEpisode {
  readonly index: EpisodeIndex;
  /** Position in the suite's list of tasks. */
  readonly task: number;
  /** Judged, and final. */
  readonly outcome: Outcome;
  /** Wall-clock seconds. */
  readonly seconds: number;
  /** What the environment and the policy printed, shortened. */
  readonly log?: string;
  /** What its sandbox had used since it was made, as of the end of this episode or a little before; left out where usage is not measured. */
  readonly usage?: SandboxUsage;
}

/** An episode as it is stored. */
export interface NewEpisode extends StoredEpisode {
  /** Of an agent: what it did, as JSON. It may be large, and is read by itself alone. */
  readonly transcript?: object;
}

/** The episodes of one checkpoint in an evaluation. */
export interface Leg {
  /** Position of the checkpoint: 0 in an evaluation, that of the arm in a comparison. */
  readonly arm: number;
  /** Under which others may find its episodes; undefined keeps them to this evaluation. */
  readonly cacheKey: CacheKey | undefined;
}

/**
 * Orders in which a person looks for episodes: by return, least or most first; by steps; by seconds; by how far the return is from the baseline's at the
 * same index; or those that failed.
 */
export const EPISODE_RANKINGS = ['worst', 'best', 'longest', 'slowest', 'discordant', 'failed'] as const;

export type EpisodeRanking = (typeof EPISODE_RANKINGS)[number];

/** Every episode that was recorded, a million of one evaluation and more. */
export interface EpisodeLog {
  /**
   * All of them are durable once it resolves, and none unless. An index that is stored stays as it is, so that repeating an append changes
   * nothing.
   *
   * @throws OwnershipLostError
   */
  append(ownership: Ownership, leg: Leg, episodes: readonly NewEpisode[]): Promise<void>;

  /** Those from an index on, by index, `limit` at most. */
  page(evaluation: EvaluationId, arm: number, from: number, limit: number): Promise<readonly StoredEpisode[]>;

  /** Those that a ranking is about, in its order and by index where it ties, from a position on. Of the baseline, none is discordant. */
  rank(
    evaluation: EvaluationId,
    arm: number,
    ranking: EpisodeRanking,
    page: { readonly from: number; readonly limit: number },
  ): Promise<readonly StoredEpisode[]>;

  /** The transcript of one episode, as JSON text. @returns undefined where it has none. */
  readTranscript(evaluation: EvaluationId, arm: number, index: number): Promise<string | undefined>;
}

/** Enough for a page to cost little, few enough for other work to get in between. */
const PAGE = 2048;

/** All from an index on, by index: the next page is read when the last one has been taken. */
export async function* readEpisodesFrom(
  log: EpisodeLog,
  evaluation: EvaluationId,
  arm: number,
  from: number,
): AsyncIterable<StoredEpisode> {
  let next = from;
  while (true) {
    const page = await log.page(evaluation, arm, next, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    next = last.index + 1;
  }
}
