import { describe, expect, it } from 'vitest';
import { evaluate } from '../../src/orchestrator/evaluate.ts';
import type { SlotShare } from '../../src/orchestrator/run/slot-share.ts';
import { Slots } from '../../src/service/playing/slots.ts';
import { EvaluationFixture, PAPER_CHECKPOINT, suiteWith } from '../support/evaluation-fixture.ts';
import { scriptedRunner } from '../support/in-memory-runner.ts';
import { completedRange } from '../support/store-fixture.ts';
import { ManualClock, settle } from '../support/manual-clock.ts';
import { MapJournal } from '../support/map-journal.ts';

const request = { suite: suiteWith(), suiteFiles: undefined, checkpoint: PAPER_CHECKPOINT, checkpointUri: 'paper' };

/** Counts the places that are held. */
class Counted implements SlotShare {
  held = 0;
  most = 0;
  readonly #share: SlotShare;

  constructor(share: SlotShare) {
    this.#share = share;
  }

  standBack(): Disposable {
    return this.#share.standBack();
  }

  async take(signal: AbortSignal): ReturnType<SlotShare['take']> {
    const place = await this.#share.take(signal);
    this.held += 1;
    this.most = Math.max(this.most, this.held);
    return {
      recalled: place.recalled,
      offerSlot: () => place.offerSlot(),
      [Symbol.dispose]: () => {
        this.held -= 1;
        place[Symbol.dispose]();
      },
    };
  }
}

describe('an evaluation that shares a pool', () => {
  it('holds at most its share of sandboxes, gives them back when others come, and has the same result', async () => {
    const clock = new ManualClock();
    let played = 0;
    const program = scriptedRunner(async () => {
      played += 1;
      await settle();
      return { return: 0.5, length: 10, metrics: {} };
    });
    await using fixture = new EvaluationFixture({ program, clock, sandboxes: 4 });
    const alone = await clock.advanceFor(fixture.evaluate(request.suite), 10_000);
    played = 0;
    const places = new Slots(4, clock);
    using mine = places.join({ principal: 'alice', priority: 0 });
    using others = places.join({ principal: 'bob', priority: 0 });
    const share = new Counted(mine);
    const over = new AbortController();
    const evaluating = evaluate({ ...fixture.context, share }, request);
    await clock.advanceUntil(() => played >= 20, 10_000);
    expect(share.held).toBe(4);
    const taken = await clock.advanceFor(Promise.all([others.take(over.signal), others.take(over.signal)]), 10_000);
    expect(played).toBeLessThan(200);
    expect(share.held).toBe(2);
    const shared = await clock.advanceFor(evaluating, 10_000);
    expect(shared.official).toEqual(alone.official);
    expect(share.held).toBe(0);
    for (const place of taken) place[Symbol.dispose]();
  });
});

describe('an evaluation that waits for sandboxes of others', () => {
  it('sends its sandbox ranges of the same size as without others', async () => {
    const clock = new ManualClock();
    const rangesOn = async (sandboxes: number, taken: number): Promise<readonly number[]> => {
      const ranges: number[] = [];
      const program = scriptedRunner(async () => ({ return: 0.5 }), { onPlay: (episodes) => ranges.push(episodes) });
      await using fixture = new EvaluationFixture({ program, clock, sandboxes });
      const places = new Slots(sandboxes, clock);
      using others = places.join({ principal: 'bob', priority: 0 });
      for (let place = 0; place < taken; place += 1) await others.take(new AbortController().signal);
      using mine = places.join({ principal: 'alice', priority: 0 });
      await clock.advanceFor(evaluate({ ...fixture.context, share: mine }, request), 10_000);
      return ranges;
    };
    const alone = await rangesOn(1, 0);
    expect(alone.length).toBeLessThan(20);
    expect(await rangesOn(4, 3)).toEqual(alone);
  });
});

describe('an evaluation that is only read from its store', () => {
  it('folds the stored episodes up to the first gap, plays nothing, and is partial', async () => {
    const clock = new ManualClock();
    const program = scriptedRunner(async () => {
      throw new Error('nothing is to be played');
    });
    await using fixture = new EvaluationFixture({ program, clock, sandboxes: 4 });
    const journal = new MapJournal(completedRange(0, 30));
    const summary = await evaluate(fixture.context, request, { journal, recallOnly: true });
    expect(summary).toMatchObject({ partial: true, ended: 'interrupted', official: { episodes: 30 }, run: { recalled: 30, outcomes: 0 } });
  });

  it('is complete when all of it is stored', async () => {
    const clock = new ManualClock();
    await using fixture = new EvaluationFixture({ program: scriptedRunner(async () => ({ return: 0, length: 1, metrics: {} })), clock });
    const summary = await evaluate(fixture.context, request, { journal: new MapJournal(completedRange(0, 200)), recallOnly: true });
    expect(summary).toMatchObject({ partial: false, ended: 'rule', official: { episodes: 200 } });
  });
});
