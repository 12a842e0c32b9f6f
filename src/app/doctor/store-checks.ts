import { systemClock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import { toOkFinding, type HealthCheck } from '../../kernel/health-check.ts';
import { openFirestore, readStoreVersion } from '../stores.ts';

/** @param url `store.url` of a database on a server. A store in a file needs no check: it is made when it is needed. */
export function createStoreCheck(url: string): HealthCheck {
  return {
    name: 'store',
    async run() {
      try {
        return toOkFinding(await readStoreVersion(url));
      } catch (error) {
        return { status: 'problem', found: getMessage(error), remedy: 'start the server that store.url names, or correct store.url' };
      }
    },
  };
}

/** @param setting `arena.trajectories`, other than "store". */
export function createTrajectoriesCheck(setting: string): HealthCheck {
  return {
    name: 'trajectories',
    async run() {
      try {
        await openFirestore(setting, systemClock, Math.random);
        return toOkFinding(setting);
      } catch (error) {
        return { status: 'problem', found: getMessage(error), remedy: 'see docs/arena.md, "Firestore", or set arena.trajectories: store' };
      }
    },
  };
}

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
