import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEpisodeIndex, type EpisodeIndex } from '../../src/kernel/ids.ts';
import { Dispatcher, type DispatchView } from '../../src/orchestrator/arm/dispatcher.ts';
import type { PlannedEpisode } from '../../src/runner/playlist.ts';

const plan = (index: number): PlannedEpisode => ({ index: parseEpisodeIndex(index), task: 0, environmentSeed: index, policySeed: index });
const config = { rangeMilliseconds: 100, stragglerFactor: 5, stragglerMilliseconds: 1000, maxAttempts: 3 };
const view: DispatchView = { now: 0, horizon: 10, sandboxes: 2, outstanding: { ranges: 0, episodes: 0 }, capacity: Infinity };
const at = (index: number): EpisodeIndex => parseEpisodeIndex(index);

function indices(range: readonly PlannedEpisode[]): number[] {
  return range.map(({ index }) => index);
}

describe('a straggler whose copies are all lost', () => {
  it('is settled by its last copy once its attempts are used up', () => {
    const dispatcher = new Dispatcher(plan, { ...config, stragglerMilliseconds: 0, stragglerFactor: 0 });
    dispatcher.take(view);
    dispatcher.take(view);
    dispatcher.settle(at(1), 1);
    const decisions: (string | undefined)[] = [];
    for (let now = 1; decisions.at(-1) !== 'final' && now < 100; now += 1) {
      dispatcher.takeStraggler(now);
      decisions.push(dispatcher.recordLoss(at(0), 'gone', false)?.kind);
      dispatcher.take({ ...view, now });
    }
    expect(decisions).toEqual(['again', 'again', undefined, 'final']);
  });
});

describe('what goes out next', () => {
  it('is the lowest free index, and nothing beyond the horizon', () => {
    const dispatcher = new Dispatcher(plan, config);
    const out = Array.from({ length: 12 }, () => dispatcher.take(view)).flatMap(indices);
    expect(out).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(dispatcher.inFlight).toBe(10);
  });

  it('never exceeds what the sandbox may still play', () => {
    const dispatcher = new Dispatcher(plan, config);
    dispatcher.take(view);
    dispatcher.settle(at(0), 1);
    expect(dispatcher.take({ ...view, horizon: 10_000, capacity: 7 })).toHaveLength(7);
  });

  it('is first the episodes that were handed back unplayed, without counting an attempt', () => {
    const dispatcher = new Dispatcher(plan, config);
    const first = dispatcher.take(view);
    dispatcher.giveBack(first);
    expect(indices(dispatcher.take(view))).toEqual([0]);
    expect(dispatcher.retried).toBe(0);
  });

  it('is again an episode whose sandbox was lost, until its attempts are used up', () => {
    const dispatcher = new Dispatcher(plan, config);
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      expect(indices(dispatcher.take(view))).toEqual([0]);
      expect(dispatcher.recordLoss(at(0), 'gone', false)).toMatchObject({ kind: 'again' });
    }
    expect(indices(dispatcher.take(view))).toEqual([0]);
    expect(dispatcher.recordLoss(at(0), 'gone', false)).toMatchObject({ kind: 'final', outcome: { kind: 'lost' } });
    expect(dispatcher.retried).toBe(2);
  });
});

describe('a straggler', () => {
  function straggling(): Dispatcher {
    const dispatcher = new Dispatcher(plan, config);
    dispatcher.take({ ...view, horizon: 2 });
    dispatcher.take({ ...view, horizon: 2 });
    dispatcher.settle(at(0), 500);
    return dispatcher;
  }

  it('gets a second copy after several times the usual time', () => {
    const dispatcher = straggling();
    expect(dispatcher.nextStragglerAt()).toBe(2500);
    expect(dispatcher.takeStraggler(2499)).toEqual([]);
    expect(indices(dispatcher.takeStraggler(2500))).toEqual([1]);
  });

  it('is not an episode that waits behind others on the same runner', () => {
    const dispatcher = new Dispatcher(plan, config);
    dispatcher.take({ ...view, horizon: 2 });
    dispatcher.take({ ...view, horizon: 2, outstanding: { ranges: 0, episodes: 9 } });
    dispatcher.settle(at(0), 500);
    expect(dispatcher.nextStragglerAt()).toBe(25_000);
  });

  it('never gets a third copy', () => {
    const dispatcher = straggling();
    dispatcher.takeStraggler(2500);
    expect(dispatcher.takeStraggler(1e9)).toEqual([]);
    expect(dispatcher.nextStragglerAt()).toBeUndefined();
  });

  it('is settled by the first result, which reports that another copy is still in flight', () => {
    const dispatcher = straggling();
    dispatcher.takeStraggler(2500);
    expect(dispatcher.settle(at(1), 500)).toMatchObject({ mayComeAgain: true });
    expect(dispatcher.settle(at(1), 500)).toBeUndefined();
  });

  it('is not played a third time when one copy is lost while the other plays on', () => {
    const dispatcher = straggling();
    dispatcher.takeStraggler(2500);
    dispatcher.recordLoss(at(1), 'gone', false);
    expect(dispatcher.take({ ...view, horizon: 2 })).toEqual([]);
    expect(dispatcher.inFlight).toBe(1);
  });
});

it('under any order of taking, losing, handing back and settling, every index below the horizon is settled once', () => {
  const step = fc.record({ action: fc.constantFrom('settle', 'lose', 'give back'), pick: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const dispatcher = new Dispatcher(plan, { ...config, maxAttempts: 1000 });
      const out: PlannedEpisode[] = [];
      const settled = new Set<number>();
      const settle = (episode: PlannedEpisode): void => {
        expect(dispatcher.settle(episode.index, 1)).toMatchObject({ episode, mayComeAgain: false });
        expect(settled.has(episode.index)).toBe(false);
        settled.add(episode.index);
      };
      for (const { action, pick } of steps) {
        out.push(...dispatcher.take({ ...view, horizon: 50, sandboxes: 4 }));
        const [episode] = out.splice(pick % Math.max(1, out.length), 1);
        if (!episode) break;
        if (action === 'settle') settle(episode);
        else if (action === 'lose') dispatcher.recordLoss(episode.index, 'gone', false);
        else dispatcher.giveBack([episode]);
      }
      for (;;) {
        out.push(...dispatcher.take({ ...view, horizon: 50, sandboxes: 4 }));
        const episode = out.pop();
        if (!episode) break;
        settle(episode);
      }
      expect(settled.size).toBe(50);
      expect(dispatcher.inFlight).toBe(0);
    }),
  );
});
