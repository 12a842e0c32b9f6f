import path from 'node:path';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { chaos, inPeace } from '../chaos/chaos.ts';
import { planChaos } from '../chaos/chaos-plan.ts';
import { REPOSITORY } from './stage.ts';

const CHECKPOINTS = path.join(REPOSITORY, 'examples/game/checkpoints');
/** Real servers start half a dozen times. */
const DEADLINE_MS = 180_000;

/** A short form of `npm run chaos`. Takeovers from one another on a shared store are in shared-store.test.ts. */
describe('a Muster and sandboxes that are killed again and again', () => {
  beforeAll(() => nock.enableNetConnect('127.0.0.1'));

  it(
    'give the answers of an undisturbed run, byte for byte, and leave nothing behind',
    async () => {
      const size = { seed: 1, evaluations: 6, kills: 2, sandboxShare: 0.3, episodes: [150, 300], halfWidths: [40] } as const;
      const plan = planChaos(size, CHECKPOINTS);
      const report = await chaos({ plan, undisturbed: await inPeace(plan) });
      expect(report.wrong).toEqual([]);
      expect(report.sandboxes.killed).toBeGreaterThan(0);
    },
    DEADLINE_MS,
  );
});

describe('the plan of a chaos run', () => {
  const whole = { seed: 1, evaluations: 50, kills: 20, sandboxShare: 0.3, episodes: [100, 600], halfWidths: [15] } as const;

  it('is the same for the same seed, and another one for another', () => {
    expect(planChaos(whole, CHECKPOINTS)).toEqual(planChaos(whole, CHECKPOINTS));
    expect(planChaos(whole, CHECKPOINTS)).not.toEqual(planChaos({ ...whole, seed: 2 }, CHECKPOINTS));
  });

  it('kills in every kind of moment', () => {
    const { kills } = planChaos(whole, CHECKPOINTS);
    expect(new Set(kills.map(({ during }) => during))).toEqual(new Set(['playing', 'accepting', 'starting']));
    expect(kills.map(({ progress }) => progress)).toEqual(kills.map(({ progress }) => progress).toSorted((a, b) => a - b));
  });
});
