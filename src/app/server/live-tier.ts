import { ForgivingLiveEpisodes } from '../../adapters/arena/forgiving-live-episodes.ts';
import { MemoryLiveEpisodes } from '../../adapters/arena/memory-live-episodes.ts';
import type { LiveEpisodes } from '../../agents/arena/live-episodes.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';

export interface LiveTier extends AsyncDisposable {
  readonly episodes: LiveEpisodes;
}

/** @param setting `arena.live`. A server has to be there at the start; one that fails later slows steps down and fails none. @throws as `RedisLiveEpisodes.open`. */
export async function openLiveEpisodes(setting: string, clock: Clock, log: Log): Promise<LiveTier> {
  if (setting === 'memory') return { episodes: new MemoryLiveEpisodes(), [Symbol.asyncDispose]: async () => undefined };
  // The client of Redis has 480 modules: servers without it need not read them.
  const { RedisLiveEpisodes } = await import('../../adapters/arena/redis/redis-live-episodes.ts');
  const redis = await RedisLiveEpisodes.open(setting, clock);
  return { episodes: new ForgivingLiveEpisodes(redis, clock, log), [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() };
}
