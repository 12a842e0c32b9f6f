import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEpisodeIndex, type EpisodeIndex } from '../../src/kernel/ids.ts';
import { Dispatcher, type DispatchView } from '../../src/orchestrator/arm/dispatcher.ts';
import type { PlannedEpisode } from '../../src/runner/playlist.ts';

const plan = (index: number): PlannedEpisode => ({ index: parseEpisodeIndex(index), task: 0, environmentSeed: index, policySeed: index });
const config = { rangeMilliseconds: 100, stragglerFactor: 5, stragglerMilliseconds: 1000, maxAttempts: 3 };
const view: DispatchView = { now: 0, horizon: 40, sandboxes: 2, outstanding: { ranges: 0, episodes: 0 }, capacity: Infinity };
const at = (index: number): EpisodeIndex => parseEpisodeIndex(index);
const indices = (range: readonly PlannedEpisode[]): number[] => range.map(({ index }) => index);

function dispatcherOfFours(): Dispatcher {
  return new Dispatcher(plan, config, 4);
}

describe('what goes out in blocks', () => {
  it('goes out whole, also when the horizon is inside a block', () => {
    const dispatcher = dispatcherOfFours();
    const ranges = [1, 2, 3, 4].map(() => indices(dispatcher.take({ ...view, horizon: 10 })));
    expect(ranges).toEqual([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], []]);
    expect(dispatcher.inFlight).toBe(12);
  });

  it('goes out in ranges of several blocks, if the time of a block allows', () => {
    const dispatcher = dispatcherOfFours();
    for (const { index } of dispatcher.take(view)) dispatcher.settle(index, 8);
    expect(dispatcher.take({ ...view, horizon: 4000 })).toHaveLength(12);
  });

  it('never exceeds what a runner must accept in one range', () => {
    const dispatcher = new Dispatcher(plan, config, 3000);
    for (const { index } of dispatcher.take({ ...view, horizon: 1e6 })) dispatcher.settle(index, 1e-6);
    expect(dispatcher.take({ ...view, horizon: 1e6 })).toHaveLength(3000);
  });

  it('is given whole to a sandbox that may play one more episode, and not to one that may play none', () => {
    const dispatcher = dispatcherOfFours();
    expect(indices(dispatcher.take({ ...view, capacity: 1 }))).toEqual([0, 1, 2, 3]);
    expect(dispatcher.take({ ...view, capacity: 0 })).toEqual([]);
    expect(dispatcher.take({ ...view, capacity: -3 })).toEqual([]);
  });
});

describe('a block that was not played to its end', () => {
  it('goes out again whole, and its known episodes are not settled twice', () => {
    const dispatcher = dispatcherOfFours();
    dispatcher.take(view);
    expect(dispatcher.settle(at(0), 1)).toMatchObject({ mayComeAgain: true });
    expect(dispatcher.settle(at(1), 1)).toMatchObject({ mayComeAgain: true });
    expect(dispatcher.recordLoss(at(2), 'gone', false)).toEqual({ kind: 'again' });
    expect(dispatcher.retried).toBe(1);
    expect(indices(dispatcher.take({ ...view, capacity: 1 }))).toEqual([0, 1, 2, 3]);
    expect(dispatcher.settle(at(0), 1)).toBeUndefined();
    expect(dispatcher.settle(at(2), 1)).toMatchObject({ episode: plan(2) });
    expect(dispatcher.settle(at(3), 1)).toMatchObject({ mayComeAgain: false });
  });

  it('is handed back once, however many of its episodes are', () => {
    const dispatcher = dispatcherOfFours();
    dispatcher.giveBack([...dispatcher.take({ ...view, horizon: 4 }), ...dispatcher.take({ ...view, horizon: 8 })]);
    expect(dispatcher.countAvailable(8)).toBe(2);
    expect(dispatcher.retried).toBe(0);
  });

  it('keeps outcomes that are reported after it was handed back', () => {
    const dispatcher = dispatcherOfFours();
    const range = dispatcher.take({ ...view, horizon: 4 });
    dispatcher.giveBack(range.slice(2));
    expect(dispatcher.settle(at(0), 1)).toMatchObject({ episode: plan(0), mayComeAgain: true });
    for (const index of [1, 2, 3]) dispatcher.settle(at(index), 1);
    expect(dispatcher.countAvailable(4)).toBe(0);
  });

  it('has its open episodes given up after its last attempt', () => {
    const dispatcher = new Dispatcher(plan, { ...config, maxAttempts: 1 }, 4);
    dispatcher.take(view);
    dispatcher.settle(at(0), 1);
    const decision = dispatcher.recordLoss(at(1), 'gone', 'runner');
    expect(decision).toMatchObject({ kind: 'final', outcome: { cause: 'environment-crash' }, episodes: [1, 2, 3].map(plan) });
  });
});

describe('a block that straggles', () => {
  it('is copied whole after several times the usual time of its episodes', () => {
    const dispatcher = dispatcherOfFours();
    dispatcher.take({ ...view, horizon: 8 });
    dispatcher.take({ ...view, horizon: 8 });
    for (const index of [0, 1, 2, 3]) dispatcher.settle(at(index), 500);
    expect(dispatcher.nextStragglerAt()).toBe(10_000);
    expect(dispatcher.takeStraggler(9_999)).toEqual([]);
    expect(indices(dispatcher.takeStraggler(10_000))).toEqual([4, 5, 6, 7]);
    expect(dispatcher.duplicated).toBe(1);
  });

  it('is still out in one copy when the other is handed back', () => {
    const dispatcher = new Dispatcher(plan, { ...config, stragglerFactor: 0, stragglerMilliseconds: 0 }, 4);
    const block = dispatcher.take({ ...view, horizon: 4 });
    dispatcher.takeStraggler(1);
    dispatcher.giveBack(block);
    expect(dispatcher.inFlight).toBe(4);
    expect(dispatcher.countAvailable(4)).toBe(0);
  });

  it('is settled by the first outcomes of either copy, and later ones are known as repetitions', () => {
    const dispatcher = new Dispatcher(plan, { ...config, stragglerFactor: 0, stragglerMilliseconds: 0 }, 2);
    dispatcher.take({ ...view, horizon: 2 });
    dispatcher.takeStraggler(1);
    expect(dispatcher.settle(at(0), 1)).toMatchObject({ mayComeAgain: true });
    expect(dispatcher.settle(at(0), 1)).toBeUndefined();
    expect(dispatcher.settle(at(1), 1)).toMatchObject({ mayComeAgain: true });
    expect(dispatcher.settle(at(1), 1)).toBeUndefined();
    expect(dispatcher.inFlight).toBe(0);
  });
});

it('under any order of taking, losing, handing back and partial settling, every index is settled once, and only whole blocks go out', () => {
  const step = fc.record({ action: fc.constantFrom('play', 'lose', 'give back'), pick: fc.nat(), played: fc.nat({ max: 4 }) });
  const sizes = fc.integer({ min: 1, max: 5 });
  fc.assert(
    fc.property(sizes, fc.array(step, { maxLength: 200 }), (size, steps) => {
      const dispatcher = new Dispatcher(plan, { ...config, maxAttempts: 1000 }, size);
      const out: (readonly PlannedEpisode[])[] = [];
      const settled = new Set<number>();
      const take = (): void => {
        const range = dispatcher.take({ ...view, horizon: 50, sandboxes: 4 });
        expect(range.length % size).toBe(0);
        for (let start = 0; start < range.length; start += size) {
          const block = range.slice(start, start + size);
          const first = block[0]?.index ?? -1;
          expect(first % size).toBe(0);
          expect(indices(block)).toEqual(block.map((_, position) => first + position));
          out.push(block);
        }
      };
      const play = (episodes: readonly PlannedEpisode[]): void => {
        for (const { index } of episodes) {
          const isFirst = dispatcher.settle(index, 1) !== undefined;
          expect(isFirst).toBe(!settled.has(index));
          settled.add(index);
        }
      };
      for (const { action, pick, played } of steps) {
        take();
        const [block] = out.splice(pick % Math.max(1, out.length), 1);
        if (!block) break;
        if (action === 'play') play(block);
        const cut = Math.min(played, size - 1);
        const due = block[cut];
        if (action === 'lose') play(block.slice(0, cut));
        if (action === 'lose' && due) dispatcher.recordLoss(due.index, 'gone', false);
        if (action === 'give back') dispatcher.giveBack(block.slice(cut));
        if (action === 'give back') play(block.slice(0, cut));
      }
      for (take(); out.length > 0; take()) play(out.pop() ?? []);
      expect(settled.size).toBe(size * Math.ceil(50 / size));
      expect(dispatcher.inFlight).toBe(0);
    }),
  );
});
