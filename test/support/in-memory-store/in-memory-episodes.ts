import type { EpisodeLog, EpisodeRanking, Leg, NewEpisode, StoredEpisode } from '../../../src/evaluation-store/episode-log.ts';
import type { Ownership } from '../../../src/evaluation-store/ownership.ts';
import type { ResultCache } from '../../../src/evaluation-store/result-cache.ts';
import type { EvaluationId } from '../../../src/kernel/ids.ts';
import type { Held } from './memory.ts';
import { InMemoryPart } from './in-memory-part.ts';

export class InMemoryEpisodes extends InMemoryPart implements EpisodeLog, ResultCache {
  async append(ownership: Ownership, { arm, cacheKey }: Leg, episodes: readonly NewEpisode[]): Promise<void> {
    const held = this.memory.owned(ownership);
    addMissing(legOf(held, arm), episodes);
    held.played.push({ at: this.memory.now, episodes: episodes.length });
    if (cacheKey !== undefined) held.donates.set(arm, (held.donates.get(arm) ?? new Set()).add(cacheKey));
  }

  async page(evaluation: EvaluationId, arm: number, from: number, limit: number): Promise<readonly StoredEpisode[]> {
    const leg = this.memory.evaluations.get(evaluation)?.legs.get(arm);
    return sorted(leg)
      .filter(({ index }) => index >= from)
      .slice(0, limit)
      .map(omitTranscript);
  }

  async rank(
    evaluation: EvaluationId,
    arm: number,
    ranking: EpisodeRanking,
    { from, limit }: { readonly from: number; readonly limit: number },
  ): Promise<readonly StoredEpisode[]> {
    const legs = this.memory.evaluations.get(evaluation)?.legs;
    const baseline = arm === 0 ? undefined : legs?.get(0);
    const ranked = sorted(legs?.get(arm)).flatMap((episode) => {
      const rank = rankOf(episode, ranking, baseline?.get(episode.index));
      return rank === undefined ? [] : [{ episode, rank }];
    });
    return ranked
      .sort((a, b) => a.rank - b.rank)
      .slice(from, from + limit)
      .map(({ episode }) => omitTranscript(episode));
  }

  async readTranscript(evaluation: EvaluationId, arm: number, index: number): Promise<string | undefined> {
    const transcript = this.memory.evaluations.get(evaluation)?.legs.get(arm)?.get(index)?.transcript;
    return transcript && JSON.stringify(transcript);
  }

  async adopt(ownership: Ownership, leg: Leg, from: number, to: number): Promise<void> {
    const held = this.memory.owned(ownership);
    const known = this.#donated(held, leg).filter(({ index }) => index >= from && index < to);
    addMissing(legOf(held, leg.arm), known);
  }

  async findNextKnown({ evaluation }: Ownership, leg: Leg, from: number): Promise<number | undefined> {
    const held = this.memory.evaluations.get(evaluation);
    const indices = held ? this.#donated(held, leg).map(({ index }) => index) : [];
    const beyond = indices.filter((index) => index >= from);
    return beyond.length === 0 ? undefined : beyond.reduce((least, index) => (index < least ? index : least));
  }

  /** Resolved, of other legs under the leg's key. */
  #donated(asking: Held, { arm, cacheKey }: Leg): readonly NewEpisode[] {
    if (cacheKey === undefined) return [];
    return [...this.memory.evaluations.values()].flatMap((held) =>
      [...held.donates].flatMap(([other, keys]) =>
        keys.has(cacheKey) && (held !== asking || other !== arm)
          ? sorted(held.legs.get(other)).filter(({ outcome }) => outcome.kind !== 'lost')
          : [],
      ),
    );
  }
}

/** Lower ones come first. Undefined where the ranking is not about the episode. */
function rankOf({ outcome, seconds }: StoredEpisode, ranking: EpisodeRanking, baseline: StoredEpisode | undefined): number | undefined {
  if (ranking === 'slowest') return -seconds;
  if (ranking === 'failed') return outcome.kind === 'completed' ? undefined : 0;
  if (outcome.kind !== 'completed') return undefined;
  switch (ranking) {
    case 'worst':
      return outcome.return;
    case 'best':
      return -outcome.return;
    case 'longest':
      return -outcome.length;
    case 'discordant':
      return baseline?.outcome.kind === 'completed' ? -Math.abs(outcome.return - baseline.outcome.return) : undefined;
  }
}

function legOf(held: Held, arm: number): Map<number, NewEpisode> {
  const leg = held.legs.get(arm) ?? new Map<number, NewEpisode>();
  held.legs.set(arm, leg);
  return leg;
}

function addMissing(leg: Map<number, NewEpisode>, episodes: readonly NewEpisode[]): void {
  for (const episode of episodes) if (!leg.has(episode.index)) leg.set(episode.index, episode);
}

function sorted(leg: ReadonlyMap<number, NewEpisode> | undefined): readonly NewEpisode[] {
  return [...(leg?.values() ?? [])].sort((a, b) => a.index - b.index);
}

function omitTranscript({ index, task, outcome, seconds, log, usage }: NewEpisode): StoredEpisode {
  return { index, task, outcome, seconds, ...(log === undefined ? {} : { log }), ...(usage && { usage }) };
}
