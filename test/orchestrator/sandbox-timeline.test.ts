import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SandboxTimeline } from '../../src/orchestrator/facts/sandbox-timeline.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';

const COMPLETED: Outcome = { kind: 'completed', return: 1, length: 1, metrics: {} };
const FAILED: Outcome = { kind: 'failed', cause: 'timeout', detail: '' };
const LOST: Outcome = { kind: 'lost', detail: '' };

const played = (seconds: number, outcome: Outcome = COMPLETED): { outcome: Outcome; seconds: number } => ({ outcome, seconds });

describe('the timeline of sandboxes', () => {
  it('places simultaneous episodes one after the other, and counts each where it ended', () => {
    const timeline = new SandboxTimeline(10_000);
    timeline.begin('one', 10_500);
    timeline.note('one', [played(0.25), played(0.5, FAILED)], 11_500);
    timeline.note('one', [{ ...played(0.5, LOST), usage: { cpuSeconds: 2, peakMemoryBytes: 3 } }], 13_000);
    timeline.end('one', 13_000);
    timeline.begin('two', 13_000);
    const idle = { busy: 0, episodes: 0, failed: 0 };
    expect(timeline.read(14_000)).toEqual({
      seconds: 4,
      sliceSeconds: 0.5,
      left: 0,
      lanes: [
        {
          name: 'one',
          from: 0.5,
          until: 3,
          episodes: 3,
          failed: 1,
          lost: 1,
          cpuSeconds: 2,
          peakMemoryBytes: 3,
          slices: [
            { ...idle, busy: 0.5 },
            { ...idle, busy: 1, episodes: 1 },
            { ...idle, episodes: 1, failed: 1 },
            idle,
            { ...idle, busy: 1 },
            { ...idle, episodes: 1 },
          ],
        },
        {
          name: 'two',
          from: 3,
          until: null,
          episodes: 0,
          failed: 0,
          lost: 0,
          cpuSeconds: null,
          peakMemoryBytes: null,
          slices: [],
        },
      ],
    });
  });

  it('continues where a sandbox comes again, and counts those that are too many', () => {
    const timeline = new SandboxTimeline(0);
    timeline.begin('again', 0);
    timeline.end('again', 1000);
    timeline.begin('again', 2000);
    for (let i = 0; i < 500; i += 1) timeline.begin(`more ${i}`, 3000);
    timeline.note('more 499', [played(1)], 4000);
    const { lanes, left } = timeline.read(4000);
    expect([lanes.length, left, lanes[0]?.until]).toEqual([500, 1, null]);
  });

  it('keeps all episodes and all time, whatever the time and the order', () => {
    const report = fc.record({ after: fc.integer({ min: 0, max: 100_000 }), seconds: fc.double({ min: 0, max: 50, noNaN: true }) });
    fc.assert(
      fc.property(fc.array(report, { minLength: 1, maxLength: 60 }), (reports) => {
        const timeline = new SandboxTimeline(0);
        timeline.begin('one', 0);
        let [now, busy] = [0, 0];
        for (const { after, seconds } of reports) {
          now += after;
          // No more than has passed since the last report.
          const taken = Math.min(seconds, after / 1000);
          busy += taken;
          timeline.note('one', [played(taken)], now);
        }
        const { lanes, sliceSeconds } = timeline.read(now);
        const slices = lanes[0]?.slices ?? [];
        expect(lanes[0]?.episodes).toBe(reports.length);
        expect(slices.length).toBeLessThanOrEqual(120);
        expect(slices.reduce((sum, slice) => sum + slice.busy * sliceSeconds, 0)).toBeCloseTo(busy, 3);
      }),
    );
  });
});
