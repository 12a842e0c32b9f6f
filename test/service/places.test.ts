import { describe, expect, it } from 'vitest';
import type { Place, PlaceShare } from '../../src/orchestrator/place-share.ts';
import { Places, type Competing } from '../../src/service/places.ts';
import { ManualClock, settle } from '../support/manual-clock.ts';

/** An evaluation that wants so many places all the time, and gives back what is recalled. */
class Player {
  held = 0;
  readonly #share: PlaceShare & Disposable;
  readonly #over = new AbortController();

  constructor(places: Places, competing: Competing, wanted: number) {
    this.#share = places.join(competing);
    for (let i = 0; i < wanted; i += 1) void this.#play().catch(() => undefined);
  }

  async #play(): Promise<void> {
    while (!this.#over.signal.aborted) {
      using place = await this.#share.take(this.#over.signal);
      this.held += 1;
      await ended(place, this.#over.signal);
      this.held -= 1;
    }
  }

  async leave(): Promise<void> {
    this.#over.abort(new Error('over'));
    await settle();
    this.#share[Symbol.dispose]();
  }
}

function ended(place: Place, over: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of [place.recalled, over]) {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  }
  return promise;
}

describe('the places of a pool, while evaluations come and go', () => {
  it('are given back for whoever comes, and come back to whoever stays', async () => {
    const clock = new ManualClock();
    const places = new Places(6, clock);
    const batch = new Player(places, { principal: 'batch', priority: 0 }, 6);
    await settle();
    expect(batch.held).toBe(6);
    const loop = new Player(places, { principal: 'loop', priority: 0 }, 6);
    await settle();
    expect([batch.held, loop.held]).toEqual([3, 3]);
    await loop.leave();
    await settle();
    expect(batch.held).toBe(6);
    await batch.leave();
    expect(clock.pending).toBe(0);
  });

  it('go round when there are fewer of them than principals', async () => {
    const clock = new ManualClock();
    const places = new Places(1, clock);
    const players = ['alice', 'bob', 'carol'].map((principal) => new Player(places, { principal, priority: 0 }, 1));
    const turns = [0, 0, 0];
    for (let turn = 0; turn < 30; turn += 1) {
      await clock.advance(10_000);
      for (const [i, { held }] of players.entries()) turns[i] = (turns[i] ?? 0) + held;
    }
    expect(turns).toEqual([10, 10, 10]);
    for (const player of players) await player.leave();
    expect(clock.pending).toBe(0);
  });

  it('are none while the pool drains, and there again when it opens', async () => {
    const clock = new ManualClock();
    const places = new Places(2, clock);
    const player = new Player(places, { principal: 'alice', priority: 0 }, 2);
    await settle();
    places.resize(0);
    await settle();
    expect(player.held).toBe(0);
    places.resize(3);
    await settle();
    expect(player.held).toBe(2);
    await player.leave();
  });

  it('are not lost with a taker that gives up waiting', async () => {
    const clock = new ManualClock();
    const places = new Places(1, clock);
    using share = places.join({ principal: 'alice', priority: 0 });
    const held = await share.take(new AbortController().signal);
    const over = new AbortController();
    const waiting = share.take(over.signal);
    over.abort(new Error('no longer'));
    // In the same moment the place is given to the one who gives up.
    held[Symbol.dispose]();
    await expect(waiting).rejects.toThrow('no longer');
    using again = await share.take(new AbortController().signal);
    expect(again.recalled.aborted).toBe(false);
  });
});
