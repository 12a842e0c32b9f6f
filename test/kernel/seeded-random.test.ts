import { describe, expect, it } from 'vitest';
import { drawIndex, createSeededRandom } from '../../src/kernel/seeded-random.ts';

function draw(purpose: string, seed: number, count: number): number[] {
  const random = createSeededRandom(purpose, seed);
  return Array.from({ length: count }, random);
}

describe('seeded random numbers', () => {
  it('are the same for the same purpose and seed, and differ when either differs', () => {
    expect(draw('a', 1, 5)).toEqual(draw('a', 1, 5));
    expect(draw('a', 1, 5)).not.toEqual(draw('a', 2, 5));
    expect(draw('a', 1, 5)).not.toEqual(draw('b', 1, 5));
  });

  it('never change between versions: a bootstrap interval must not depend on a library', () => {
    expect(draw('golden', 7, 3)).toEqual([0.13161786577323287, 0.6435909796113833, 0.9241121074511187]);
  });

  it('fill [0, 1) evenly', () => {
    const counts = Array.from({ length: 20 }, () => 0);
    for (const value of draw('even', 3, 100_000)) counts[Math.floor(value * 20)] = (counts[Math.floor(value * 20)] ?? 0) + 1;
    const chiSquared = counts.reduce((sum, count) => sum + (count - 5000) ** 2 / 5000, 0);
    // The 99.9 % quantile of χ² with 19 degrees of freedom.
    expect(chiSquared).toBeLessThan(43.8);
  });

  it('pick every index', () => {
    const random = createSeededRandom('index', 1);
    expect(new Set(Array.from({ length: 200 }, () => drawIndex(random, 5)))).toEqual(new Set([0, 1, 2, 3, 4]));
  });
});
