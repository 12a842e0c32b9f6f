import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Course } from '../../src/aggregation/results/course.ts';

/** The points are the numbers of episodes themselves. */
function courseOf(episodes: number): { points: number[]; made: number } {
  const course = new Course<number>();
  let made = 0;
  for (let at = 1; at <= episodes; at += 1) {
    course.note(at, () => {
      made += 1;
      return at;
    });
  }
  return { points: course.listPoints(episodes, () => episodes), made };
}

test('a short course has every episode', () => {
  expect(courseOf(0).points).toEqual([]);
  expect(courseOf(1).points).toEqual([1]);
  expect(courseOf(127).points).toEqual(Array.from({ length: 127 }, (_, position) => position + 1));
});

test('a longer one has every second, fourth, … and the last', () => {
  expect(courseOf(128).points).toEqual(Array.from({ length: 64 }, (_, position) => 2 * (position + 1)));
  expect(courseOf(131).points.slice(-2)).toEqual([130, 131]);
  expect(courseOf(255).points).toHaveLength(128);
});

test('it never has more than 128 points, evenly spaced by a power of two but for the last', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20_000 }), (episodes) => {
      const { points } = courseOf(episodes);
      expect(points.length).toBeLessThanOrEqual(128);
      expect(points.at(-1)).toBe(episodes);
      const stride = points[0] ?? 0;
      expect(Math.log2(stride) % 1 === 0 || points.length === 1).toBe(true);
      for (const [position, point] of points.slice(0, -1).entries()) expect(point).toBe(stride * (position + 1));
      expect(points.length).toBeGreaterThanOrEqual(Math.min(episodes, 64));
    }),
    { numRuns: 60 },
  );
});

test('points that are not kept are not computed', () => {
  expect(courseOf(100_000).made).toBeLessThan(128 + 64 * 10);
});
