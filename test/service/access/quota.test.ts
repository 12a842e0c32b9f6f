import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findStartOfDay, decide, countAllowedEpisodes, findQuota, type Quota } from '../../../src/service/access/quota.ts';
import { loadConfig } from '../../../src/app/configuration.ts';

const NOON = new Date('2026-03-01T12:00:00.500Z');
const NONE: Quota = {
  concurrentEpisodes: undefined,
  waitingEvaluations: undefined,
  checkpointBytes: undefined,
  episodesPerDay: undefined,
  openEpisodes: undefined,
};

describe('a submission', () => {
  const quota = { ...NONE, waitingEvaluations: 10, episodesPerDay: 1000 };
  const asks = (changes: object) => decide(quota, { kind: 'submit', evaluations: 1, waiting: 0, episodesToday: 0, ...changes }, NOON);

  it('is allowed up to the quota, and refused beyond it until some have begun', () => {
    expect(asks({ waiting: 9 })).toEqual({ kind: 'allow' });
    expect(asks({ waiting: 10 })).toMatchObject({ kind: 'refuse', code: 'quota.waiting-evaluations', retryAfterSeconds: 30 });
    expect(asks({ waiting: 5, evaluations: 6 })).toMatchObject({ kind: 'refuse', code: 'quota.waiting-evaluations' });
  });

  it('that never fits is refused without a time to come back', () => {
    const decision = asks({ evaluations: 11 });
    expect(decision).toMatchObject({ kind: 'refuse', retryAfterSeconds: undefined });
    expect(decision).toMatchObject({ reason: expect.stringContaining('ask for fewer at a time') });
  });

  it('is refused until midnight UTC when the day’s episodes are used up', () => {
    expect(asks({ episodesToday: 999 })).toEqual({ kind: 'allow' });
    expect(asks({ episodesToday: 1000 })).toMatchObject({
      kind: 'refuse',
      code: 'quota.episodes-per-day',
      retryAfterSeconds: 12 * 3600,
      reason: expect.stringContaining('quotas.episodesPerDay is 1000'),
    });
  });

  it('after the announced time is allowed, and a millisecond before it is another day', () => {
    const time = fc.date({ min: new Date(0), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true });
    fc.assert(
      fc.property(time, (now) => {
        const decision = decide(quota, { kind: 'submit', evaluations: 1, waiting: 0, episodesToday: 1000 }, now);
        if (decision.kind === 'allow' || decision.retryAfterSeconds === undefined) throw new Error('it was to be refused for a time');
        const then = new Date(now.getTime() + decision.retryAfterSeconds * 1000);
        expect(findStartOfDay(then).getTime()).toBe(findStartOfDay(now).getTime() + 86_400_000);
        expect(decision.retryAfterSeconds).toBeLessThanOrEqual(86_400);
      }),
    );
  });
});

describe('an upload', () => {
  it('is allowed while everything that is stored fits', () => {
    const quota = { ...NONE, checkpointBytes: 100 };
    expect(decide(quota, { kind: 'upload', bytes: 40, kept: 60 }, NOON)).toEqual({ kind: 'allow' });
    expect(decide(quota, { kind: 'upload', bytes: 41, kept: 60 }, NOON)).toMatchObject({
      kind: 'refuse',
      code: 'quota.checkpoint-bytes',
      // Without a bound for all of them, which is the default, none is ever removed.
      reason: expect.stringMatching(/quotas.checkpointBytes is 100 .*; an operator can raise the quota, or set checkpoints.keptBytes/),
    });
  });

  it('of 0 bytes is always allowed', () => {
    expect(decide({ ...NONE, checkpointBytes: 1 }, { kind: 'upload', bytes: 0, kept: 5 }, NOON)).toEqual({ kind: 'allow' });
  });
});

it('without a quota everything is allowed', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.nat(), (a, b, c) => {
      expect(decide(NONE, { kind: 'submit', evaluations: a, waiting: b, episodesToday: c }, NOON)).toEqual({ kind: 'allow' });
      expect(decide(NONE, { kind: 'upload', bytes: a, kept: b }, NOON)).toEqual({ kind: 'allow' });
      expect(countAllowedEpisodes(NONE, a, b)).toBe(b);
    }),
  );
});

it('concurrent episodes never exceed the quota, and free places are granted', () => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(1000), fc.nat(1000), (most, playing, wanted) => {
      const allowed = countAllowedEpisodes({ ...NONE, concurrentEpisodes: most }, playing, wanted);
      expect(allowed).toBe(Math.min(wanted, Math.max(0, most - playing)));
    }),
  );
});

describe('the quota of a principal', () => {
  const environment = {
    HOME: '/home/someone',
    MUSTER_QUOTAS__PIPELINE__EPISODES_PER_DAY: '5',
    MUSTER_QUOTAS__DEFAULT__CHECKPOINT_BYTES: '2GiB',
  };
  const { quotas } = loadConfig({ processors: 8, environment });

  it('has its own bounds, and otherwise the default ones', () => {
    expect(findQuota(quotas, 'pipeline')).toEqual({ ...NONE, waitingEvaluations: 10_000, checkpointBytes: 2 * 2 ** 30, episodesPerDay: 5 });
    expect(findQuota(quotas, 'somebody')).toEqual({ ...NONE, waitingEvaluations: 10_000, checkpointBytes: 2 * 2 ** 30 });
  });

  it('is not taken from the prototype of objects', () => {
    expect(findQuota(quotas, 'constructor')).toEqual(findQuota(quotas, 'somebody'));
  });
});
