import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTooStale, planStarts, type StreamTerms } from '../../../src/agents/rollouts/groups/plan-starts.ts';

interface Group {
  readonly begunAt: number;
  running: number;
}

/** A stream and a trainer that takes one batch for each version, played step by step; `choices` decide which trajectory ends next, and how. */
class Played {
  readonly running: Group[] = [];
  readonly waiting: Group[] = [];
  accepted = 0;
  version = 0;
  delivered = 0;
  cancelled = 0;
  readonly #terms: StreamTerms;

  constructor(terms: StreamTerms) {
    this.#terms = terms;
  }

  get trajectories(): number {
    return this.running.reduce((sum, { running }) => sum + running, 0);
  }

  begin(): number {
    const { accepted, version, trajectories } = this;
    const waiting = this.waiting.length;
    const starts = planStarts({ running: this.running.length, trajectories, accepted, waiting, version }, this.#terms);
    for (let i = 0; i < starts; i += 1) this.running.push({ begunAt: version, running: this.#terms.groupSize });
    return starts;
  }

  /** Whether another group would be too many to wait for a trainer, or too old for it. */
  isHeldBack(): boolean {
    const { batch, maxStaleness, mostWaiting } = this.#terms;
    const begun = this.accepted + this.running.length;
    return this.waiting.length + this.running.length >= mostWaiting || begun >= (maxStaleness + this.version + 1) * batch;
  }

  /** The trajectory that `choice` points at ends; a group whose last one has ended is kept or filtered. */
  end(choice: number, isFiltered: boolean): void {
    const group = this.running[choice % this.running.length];
    if (!group) return;
    group.running -= 1;
    if (group.running > 0) return;
    this.running.splice(this.running.indexOf(group), 1);
    if (isFiltered) return;
    this.accepted += 1;
    this.waiting.push(group);
  }

  /** The trainer takes a batch as soon as there is one, oldest first. */
  train(): void {
    for (const group of this.waiting.filter(({ begunAt }) => isTooStale(begunAt, this.version, this.#terms))) {
      this.waiting.splice(this.waiting.indexOf(group), 1);
      this.accepted -= 1;
      this.cancelled += 1;
    }
    const { batch } = this.#terms;
    if (this.waiting.length < batch) return;
    for (const { begunAt } of this.waiting.splice(0, batch)) {
      expect(isTooStale(begunAt, this.version, this.#terms)).toBe(false);
      this.delivered += 1;
    }
    this.version += 1;
  }
}

const terms: fc.Arbitrary<StreamTerms> = fc
  .record({
    groupSize: fc.integer({ min: 1, max: 8 }),
    concurrency: fc.integer({ min: 1, max: 40 }),
    batch: fc.integer({ min: 1, max: 6 }),
    maxStaleness: fc.nat(4),
    room: fc.nat(20),
  })
  .map(({ room, groupSize, concurrency, batch, maxStaleness }) => ({
    groupSize,
    concurrency,
    batch,
    maxStaleness,
    mostWaiting: batch + room,
    total: undefined,
  }));

describe('which groups of a stream begin', () => {
  it('the stream never runs dry, and never exceeds concurrency, staleness or the bound on waiting groups, however many groups are filtered', () => {
    fc.assert(
      fc.property(terms, fc.infiniteStream(fc.tuple(fc.nat(1000), fc.nat(9))), (given, choices) => {
        const played = new Played(given);
        for (let step = 0; step < 400; step += 1) {
          const before = played.trajectories;
          const starts = played.begin();
          // Groups begin until as many trajectories as may act at a time have not ended; members of the last one wait for others to end.
          const lastBeganAt = before + (starts - 1) * given.groupSize;
          expect(starts === 0 || lastBeganAt < given.concurrency).toBe(true);
          expect(played.trajectories >= given.concurrency || played.isHeldBack()).toBe(true);
          expect(played.waiting.length + played.running.length).toBeLessThanOrEqual(given.mostWaiting);
          // There is always something to wait for: a trajectory that runs.
          expect(played.running.length).toBeGreaterThan(0);
          const [choice = 0, luck = 0] = choices.next().value ?? [];
          played.end(choice, luck < 4);
          played.train();
        }
      }),
    );
  });

  it('none is cancelled for its age when groups end in the order in which they begin', () => {
    fc.assert(
      fc.property(terms, fc.infiniteStream(fc.nat(9)), (given, luck) => {
        const played = new Played(given);
        for (let step = 0; step < 400; step += 1) {
          played.begin();
          played.end(0, (luck.next().value ?? 0) < 4);
          played.train();
        }
        expect(played.cancelled).toBe(0);
      }),
    );
  });

  it('none begins while the trainer does not fetch, and as many as are asked for in all', () => {
    const given: StreamTerms = { groupSize: 2, concurrency: 100, batch: 4, maxStaleness: 100, mostWaiting: 10, total: 12 };
    const counts = { running: 0, trajectories: 0, accepted: 0, waiting: 0, version: 0 };
    expect(planStarts(counts, given)).toBe(10);
    expect(planStarts({ ...counts, accepted: 10, waiting: 10 }, given)).toBe(0);
    expect(planStarts({ ...counts, accepted: 10, waiting: 6 }, given)).toBe(2);
    expect(planStarts({ ...counts, accepted: 12 }, given)).toBe(0);
    expect(planStarts(counts, { ...given, concurrency: 1 })).toBe(1);
    expect(
      [0, 1, 2, 3, 4].map((trajectories) => planStarts({ ...counts, running: 1, trajectories }, { ...given, concurrency: 3 })),
    ).toEqual([2, 1, 1, 0, 0]);
  });
});
