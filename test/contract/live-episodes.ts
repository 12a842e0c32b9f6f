import { describe, expect, it } from 'vitest';
import { parseAgentEpisodeId } from '../../src/agents/arena/episode-ids.ts';
import type { LiveEpisode, LiveEpisodes } from '../../src/agents/arena/live-episodes.ts';
import { createEpisodeState } from '../../src/agents/arena/plan-episode.ts';

const ID = parseAgentEpisodeId('ep-live');

function live(fence: number, steps: number): LiveEpisode {
  const answered = Array.from({ length: steps }, (_, i) => `digest ${i}`);
  return { fence, state: { ...createEpisodeState(5), answered, phase: { kind: 'ready' } } };
}

/** Runs every case on a fresh subject. */
export function liveEpisodesContract(name: string, make: () => Promise<AsyncDisposable & { readonly live: LiveEpisodes }>): void {
  describe(`${name} keeps the contract of live episodes`, () => {
    it('returns what was written last, and nothing that was removed or never written', async () => {
      await using subject = await make();
      expect(await subject.live.get(ID)).toBeUndefined();
      expect(await subject.live.put(ID, live(1, 0))).toBe(true);
      expect(await subject.live.put(ID, live(1, 1))).toBe(true);
      expect(await subject.live.get(ID)).toEqual(live(1, 1));
      expect(await subject.live.get(parseAgentEpisodeId('ep-other'))).toBeUndefined();
      await subject.live.remove(ID);
      await subject.live.remove(ID);
      expect(await subject.live.get(ID)).toBeUndefined();
    });

    it('refuses writes of a replaced holder, and fewer steps from the same one', async () => {
      await using subject = await make();
      await subject.live.put(ID, live(2, 3));
      expect(await subject.live.put(ID, live(1, 9))).toBe(false);
      expect(await subject.live.put(ID, live(2, 2))).toBe(false);
      expect(await subject.live.get(ID)).toEqual(live(2, 3));
      expect(await subject.live.put(ID, live(3, 0))).toBe(true);
      expect(await subject.live.get(ID)).toEqual(live(3, 0));
    });
  });
}
