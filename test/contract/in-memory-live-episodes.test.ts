import { MemoryLiveEpisodes } from '../../src/adapters/arena/memory-live-episodes.ts';
import { liveEpisodesContract } from './live-episodes.ts';

liveEpisodesContract('memory', async () => ({ live: new MemoryLiveEpisodes(), [Symbol.asyncDispose]: async () => undefined }));
