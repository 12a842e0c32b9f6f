import type { EpisodeIndex, EvaluationId } from '../kernel/ids.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { SandboxUsage } from '../kernel/sandbox-usage.ts';
import type { Ownership } from './ownership.ts';
import type { CacheKey } from './cache-key.ts';

/** The fields that are needed to count an episode without playing it again. Its seeds follow from the index. */
export interface StoredEpisode {
  readonly index: EpisodeIndex;
  /** Position in the suite's list of tasks. */
  readonly task: number;
  /** A final outcome. */
  readonly outcome: Outcome;
  /** Wall-clock seconds. */
  readonly seconds: number;
  /** Output of the environment and the policy, shortened. */
  readonly log?: string;
  /** What the sandbox had used since its creation, at the end of this episode or shortly before; left out where usage is not measured. */
  readonly usage?: SandboxUsage;
}

export interface NewEpisode extends StoredEpisode {
  /** The agent's calls with their answers, and the verdict, as JSON. It may be large, so it is read separately. */
  readonly transcript?: object;
}

/** The episodes of one checkpoint in an evaluation. */
export interface Leg {
  /** Position of the checkpoint: 0 in an evaluation, that of the arm in a comparison. */
  readonly arm: number;
  /** The key under which other evaluations find its episodes; undefined when they may not. */
  readonly cacheKey: CacheKey | undefined;
}

/**
 * Orders in which a person looks for episodes: by return, lowest or highest first; by steps; by seconds; by the difference from the
 * baseline's return at the same index; or those that failed.
 */
export const EPISODE_RANKINGS = ['worst', 'best', 'longest', 'slowest', 'discordant', 'failed'] as const;

export type EpisodeRanking = (typeof EPISODE_RANKINGS)[number];

/** All recorded episodes: an evaluation may have a million and more. */
export interface EpisodeLog {
  /**
   * All episodes are durable once it resolves; when it rejects, none is. A stored index never changes, so appending the same episodes again
   * has no effect.
   *
   * @throws OwnershipLostError
   */
  append(ownership: Ownership, leg: Leg, episodes: readonly NewEpisode[]): Promise<void>;

  /** Reads episodes from an index on, in order of index, at most `limit`. */
  page(evaluation: EvaluationId, arm: number, from: number, limit: number): Promise<readonly StoredEpisode[]>;

  /** Reads the episodes of a ranking from a position on, in its order, ties by index. The baseline has no discordant episodes. */
  rank(
    evaluation: EvaluationId,
    arm: number,
    ranking: EpisodeRanking,
    page: { readonly from: number; readonly limit: number },
  ): Promise<readonly StoredEpisode[]>;

  /** Reads the transcript of one episode, as JSON text. @returns undefined when the episode has none. */
  readTranscript(evaluation: EvaluationId, arm: number, index: number): Promise<string | undefined>;
}

/** Large enough for a page to be cheap, small enough for other work to run in between. */
const PAGE = 2048;

/** Reads all episodes from an index on, in order of index. Reads the next page when the last one has been consumed. */
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
