import { describe, expect, it } from 'vitest';
import { readRewards } from '../../../src/faces/page/browser/model/rewards.ts';

const NONE = { oldest: null, newest: null };

describe('the rewards of a stream of groups', () => {
  it('are drawn by version as the mean of its groups, once there are two versions', () => {
    const groups = [
      { number: 4, mean: 0.9, versions: { oldest: 7, newest: 8 } },
      { number: 3, mean: 0.5, versions: { oldest: 7, newest: 7 } },
      { number: 2, mean: null, versions: { oldest: 9, newest: 9 } },
      { number: 1, mean: 0.1, versions: { oldest: 7, newest: 7 } },
      { number: 0, mean: 0.4, versions: NONE },
    ];
    expect(readRewards(groups)).toEqual({
      by: 'version',
      points: [
        { x: 7, mean: 0.3 },
        { x: 8, mean: 0.9 },
      ],
    });
    expect(readRewards(groups.slice(1))).toEqual({
      by: 'group',
      points: [
        { x: 0, mean: 0.4 },
        { x: 1, mean: 0.1 },
        { x: 3, mean: 0.5 },
      ],
    });
  });
});
