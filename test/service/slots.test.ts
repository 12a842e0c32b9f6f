import { describe, expect, it } from 'vitest';
import type { Slot, SlotShare } from '../../src/orchestrator/run/slot-share.ts';
import { EpisodeBounds } from '../../src/service/playing/episode-bounds.ts';
import { Slots, type Competing } from '../../src/service/playing/slots.ts';
import { ManualClock, settle } from '../support/manual-clock.ts';

/** An evaluation that always wants this many slots, and returns recalled ones. */
class Player {
  held = 0;
  readonly #share: SlotShare & Disposable;
  readonly #over = new AbortController();

  constructor(slots: Slots, competing: Competing, wanted: number) {
    this.#share = slots.join(competing);
    for (let i = 0; i < wanted; i += 1) void this.#play().catch(() => undefined);
  }

  async #play(): Promise<void> {
    while (!this.#over.signal.aborted) {
      using slot = await this.#share.take(this.#over.signal);
      this.held += 1;
      await ended(slot, this.#over.signal);
      this.held -= 1;
    }
  }

  async leave(): Promise<void> {
    this.#over.abort(new Error('over'));
    await settle();
    this.#share[Symbol.dispose]();
  }
}

function ended(slot: Slot, over: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of [slot.recalled, over]) {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  }
  return promise;
}

describe('the slots of a pool, while evaluations come and go', () => {
  it('are given up for a new evaluation, and return to the earlier ones', async () => {
    const clock = new ManualClock();
    const slots = new Slots(6, clock);
    const batch = new Player(slots, { principal: 'batch', priority: 0 }, 6);
    await settle();
    expect(batch.held).toBe(6);
    const loop = new Player(slots, { principal: 'loop', priority: 0 }, 6);
    await settle();
    expect([batch.held, loop.held]).toEqual([3, 3]);
    await loop.leave();
    await settle();
    expect(batch.held).toBe(6);
    await batch.leave();
    expect(clock.pending).toBe(0);
  });

  it('rotate when there are fewer of them than principals', async () => {
    const clock = new ManualClock();
    const slots = new Slots(1, clock);
    const players = ['alice', 'bob', 'carol'].map((principal) => new Player(slots, { principal, priority: 0 }, 1));
    const turns = [0, 0, 0];
    for (let turn = 0; turn < 30; turn += 1) {
      await clock.advance(10_000);
      for (const [i, { held }] of players.entries()) turns[i] = (turns[i] ?? 0) + held;
    }
    expect(turns).toEqual([10, 10, 10]);
    for (const player of players) await player.leave();
    expect(clock.pending).toBe(0);
  });

  it('are none while the pool drains, and return when it opens', async () => {
    const clock = new ManualClock();
    const slots = new Slots(2, clock);
    const player = new Player(slots, { principal: 'alice', priority: 0 }, 2);
    await settle();
    slots.resize(0);
    await settle();
    expect({ held: player.held, waiting: slots.waiting }).toEqual({ held: 0, waiting: 2 });
    slots.resize(3);
    await settle();
    expect({ held: player.held, waiting: slots.waiting }).toEqual({ held: 2, waiting: 0 });
    await player.leave();
  });

  it('move from idle sandboxes before busy ones, and stay while no evaluation can use them', async () => {
    const clock = new ManualClock();
    const slots = new Slots(4, clock);
    using share = slots.join({ principal: 'alice', priority: 0 });
    const held = await Promise.all(Array.from({ length: 4 }, () => share.take(new AbortController().signal)));
    const [first, second] = held.map((slot) => slot.offerSlot());
    await settle();
    expect(held.map(({ recalled }) => recalled.aborted)).toEqual([false, false, false, false]);
    first?.[Symbol.dispose]();
    const next = new Player(slots, { principal: 'alice', priority: -1 }, 4);
    await settle();
    // The third and the fourth also have no work; the first has work again.
    expect(held.map(({ recalled }) => recalled.aborted)).toEqual([false, true, true, true]);
    second?.[Symbol.dispose]();
    for (const slot of held.slice(1)) slot[Symbol.dispose]();
    await settle();
    expect(next.held).toBe(3);
    await next.leave();
    held[0]?.[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });

  it('return to the first evaluation when it has work again', async () => {
    const clock = new ManualClock();
    const slots = new Slots(2, clock);
    using share = slots.join({ principal: 'alice', priority: 0 });
    const held = await Promise.all([1, 2].map(() => share.take(new AbortController().signal)));
    using _spare = held[1]?.offerSlot();
    const next = new Player(slots, { principal: 'alice', priority: -1 }, 2);
    await settle();
    held[1]?.[Symbol.dispose]();
    await settle();
    expect(next.held).toBe(1);
    using again = await share.take(new AbortController().signal);
    expect([again.recalled.aborted, next.held]).toEqual([false, 0]);
    await next.leave();
    held[0]?.[Symbol.dispose]();
  });

  it('are not lost with a caller that stops waiting', async () => {
    const clock = new ManualClock();
    const slots = new Slots(1, clock);
    using share = slots.join({ principal: 'alice', priority: 0 });
    const held = await share.take(new AbortController().signal);
    const over = new AbortController();
    const waiting = share.take(over.signal);
    over.abort(new Error('no longer'));
    // At the same moment the slot goes to the caller that stops waiting.
    held[Symbol.dispose]();
    await expect(waiting).rejects.toThrow('no longer');
    using again = await share.take(new AbortController().signal);
    expect(again.recalled.aborted).toBe(false);
  });
});

describe('a bound on a principal’s concurrent episodes', () => {
  it('holds over all of its evaluations, whatever is free, and does not affect others', async () => {
    const clock = new ManualClock();
    const slots = new Slots(8, clock, new EpisodeBounds((principal) => ({ concurrentEpisodes: principal === 'batch' ? 3 : undefined })));
    const batches = [2, 5].map((wanted) => new Player(slots, { principal: 'batch', priority: 0 }, wanted));
    const loop = new Player(slots, { principal: 'loop', priority: 0 }, 4);
    await settle();
    expect([batches.reduce((sum, { held }) => sum + held, 0), loop.held]).toEqual([3, 4]);
    await batches[0]?.leave();
    await settle();
    expect(batches[1]?.held).toBe(3);
    for (const player of [batches[1], loop]) await player?.leave();
    expect(clock.pending).toBe(0);
  });

  it('holds over all pools, and a slot returned in one can be used in another', async () => {
    const clock = new ManualClock();
    const bounds = new EpisodeBounds(() => ({ concurrentEpisodes: 3 }));
    const [small, large] = [new Slots(8, clock, bounds), new Slots(8, clock, bounds)];
    const first = new Player(small, { principal: 'batch', priority: 0 }, 2);
    const second = new Player(large, { principal: 'batch', priority: 0 }, 8);
    await settle();
    expect([first.held, second.held]).toEqual([2, 1]);
    await first.leave();
    await settle();
    expect(second.held).toBe(3);
    await second.leave();
    expect(clock.pending).toBe(0);
  });
});
