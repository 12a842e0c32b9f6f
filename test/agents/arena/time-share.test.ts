import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Effort } from '../../../src/agents/arena/task-records.ts';
import { computeTimeShare } from '../../../src/agents/arena/time-share.ts';

const effort: fc.Arbitrary<Effort> = fc.record({
  cpuSeconds: fc.double({ min: 0, max: 1e6, noNaN: true }),
  steps: fc.integer({ min: 0, max: 1_000_000 }),
});

describe('the time of a submission beside that of the task’s own solution', () => {
  it('is in [0, 1], is 0 up to twice the time of the solution, and grows from there', () => {
    fc.assert(
      fc.property(effort, effort, fc.double({ min: 0, max: 0.99, noNaN: true }), (own, oracle, more) => {
        const share = computeTimeShare(own, oracle);
        expect(share).toBeGreaterThanOrEqual(0);
        expect(share).toBeLessThanOrEqual(1);
        expect(computeTimeShare({ cpuSeconds: oracle.cpuSeconds * (1 + more), steps: Math.floor(oracle.steps * (1 + more)) }, oracle)).toBe(
          0,
        );
        expect(computeTimeShare({ cpuSeconds: own.cpuSeconds * 2, steps: own.steps + 1 }, oracle)).toBeGreaterThanOrEqual(share);
      }),
    );
  });

  it('counts whole doublings, processor time and steps the same', () => {
    const oracle = { cpuSeconds: 1, steps: 3 };
    const share = (cpuSeconds: number, steps: number): number => computeTimeShare({ cpuSeconds, steps }, oracle);
    expect([share(1.99, 5), share(2, 5), share(3.9, 6), share(1, 48), share(16, 48), share(1e9, 1e9)]).toEqual([
      0,
      1 / 8,
      2 / 8,
      0.5,
      1,
      1,
    ]);
    // A tenth of a second can be distinguished from none.
    expect(computeTimeShare({ cpuSeconds: 0.19, steps: 1 }, { cpuSeconds: 0, steps: 1 })).toBe(0);
  });
});
