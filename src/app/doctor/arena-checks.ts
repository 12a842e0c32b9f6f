import { systemClock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import { toOkFinding, type HealthCheck } from '../../kernel/health-check.ts';

/** @param setting `arena.live`, other than "memory". */
export function createLiveEpisodesCheck(setting: string): HealthCheck {
  return {
    name: 'live episodes',
    async run() {
      try {
        const { RedisLiveEpisodes } = await import('../../adapters/arena/redis/redis-live-episodes.ts');
        await using live = await RedisLiveEpisodes.open(setting, systemClock);
        return toOkFinding(await live.readVersion());
      } catch (error) {
        return {
          status: 'problem',
          found: getMessage(error),
          remedy: 'start the server that arena.live names (Debian: redis-server or valkey-server), or set arena.live: memory',
        };
      }
    },
  };
}
