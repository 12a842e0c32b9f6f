import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { REPOSITORY } from '../end-to-end/stage.ts';
import { planChaos } from './chaos-plan.ts';

const CHECKPOINTS = path.join(REPOSITORY, 'examples/game/checkpoints');

describe('the plan of a chaos run', () => {
  const whole = { seed: 1, evaluations: 50, kills: 20, sandboxShare: 0.3, episodes: [100, 600], halfWidths: [15] } as const;

  it('is the same for the same seed, and differs for another seed', () => {
    expect(planChaos(whole, CHECKPOINTS)).toEqual(planChaos(whole, CHECKPOINTS));
    expect(planChaos(whole, CHECKPOINTS)).not.toEqual(planChaos({ ...whole, seed: 2 }, CHECKPOINTS));
  });

  it('has kills at every kind of moment', () => {
    const { kills } = planChaos(whole, CHECKPOINTS);
    expect(new Set(kills.map(({ during }) => during))).toEqual(new Set(['playing', 'accepting', 'starting']));
    expect(kills.map(({ progress }) => progress)).toEqual(kills.map(({ progress }) => progress).toSorted((a, b) => a - b));
  });
});
