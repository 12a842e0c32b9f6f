import { describe, expect, it } from 'vitest';
import type { Report } from '../../src/evaluation-store/evaluation-course.ts';
import { InfrastructureError } from '../../src/kernel/errors.ts';
import { parseEvaluationId, parseOwnerId } from '../../src/kernel/ids.ts';
import { Reporter } from '../../src/service/playing/reporter.ts';
import type { RunningFigures } from '../../src/service/orders/running-figures.ts';
import { ManualClock } from '../support/manual-clock.ts';

const shared = { outcomes: 1, inFlight: 0, episodesPerSecond: 1, seconds: 1, secondsLeft: null };
const candidates = [{ digest: 'sha256:a', pairs: 8, difference: 1, halfWidth: 0.5, verdict: 'promote' }] as const;
const promoted: RunningFigures = { kind: 'comparison', episodes: 16, pairs: 8, candidates: [...candidates], ...shared };
const verdict = { type: 'verdict', data: { candidate: 'sha256:a', verdict: 'promote', pairs: 8, difference: 1, halfWidth: 0.5 } };

/** A store whose reports fail as often as is said. */
function fixture(failures: number) {
  const clock = new ManualClock();
  const reports: Report[] = [];
  let left = failures;
  const report = async (_: unknown, written: Report): Promise<void> => {
    if ((left -= 1) >= 0) throw new InfrastructureError('store.failed', 'the disk is full');
    reports.push(written);
  };
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const ownership = { evaluation: parseEvaluationId('ev-1'), key: 1, owner: parseOwnerId('it'), fence: 1 };
  const unexpected = (): never => expect.unreachable();
  const reporter = new Reporter({
    course: { report },
    ownership,
    clock,
    log,
    everyMilliseconds: 1000,
    onReported: () => undefined,
    onLost: unexpected,
  });
  return { clock, reports, reporter };
}

describe('the report of an evaluation', () => {
  it('is written by the process that concludes it, if it was not written before', async () => {
    const { clock, reports, reporter } = fixture(0);
    reporter.update(promoted);
    const progress = { type: 'progress', data: promoted };
    expect(await reporter.close()).toMatchObject({ running: promoted, events: [verdict, progress] });
    expect(reports).toEqual([]);
    expect(await reporter.close()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  it('is written with the end if the store failed before: no verdict is lost', async () => {
    const { clock, reports, reporter } = fixture(1);
    reporter.update(promoted);
    await clock.advance(1000);
    expect(reports).toEqual([]);
    expect(await reporter.close()).toMatchObject({ running: promoted, events: expect.arrayContaining([verdict]) });
  });

  it('is written when the evaluation is given back', async () => {
    const { clock, reports, reporter } = fixture(0);
    reporter.update(promoted);
    await reporter.flush();
    expect(reports).toMatchObject([{ running: promoted, events: [verdict, { type: 'progress' }] }]);
    expect(clock.pending).toBe(0);
  });
});
