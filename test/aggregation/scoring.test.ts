import { expect, test } from 'vitest';
import { judge, computeScore } from '../../src/aggregation/folding/scoring.ts';
import { FAILURE_CAUSES } from '../../src/kernel/outcome.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';

const bounds = { low: -1, high: 1 };
const scores = { timeout: -0.5, crash: -1 };
const completed = (value: number): Outcome => ({ kind: 'completed', return: value, length: 3, metrics: {} });

test.each([Number.NaN, Infinity, -Infinity])('a return of %d is a failure named so', (value) => {
  for (const declared of [bounds, undefined])
    expect(judge(completed(value), declared)).toMatchObject({ kind: 'failed', cause: 'invalid-return' });
});

test.each([1.0000001, -1.0000001, 500])('a return of %d outside of the bounds is a failure named so, never clipped', (value) => {
  expect(judge(completed(value), bounds)).toMatchObject({
    kind: 'failed',
    cause: 'out-of-bounds',
    detail: `the return ${value} lies outside of the declared bounds [-1, 1]`,
  });
  expect(judge(completed(value), undefined)).toEqual(completed(value));
});

test('every other outcome stays unchanged, also on the bounds, and judging twice changes nothing', () => {
  const lost: Outcome = { kind: 'lost', detail: 'gone' };
  for (const outcome of [completed(-1), completed(1), completed(0.25), lost]) expect(judge(outcome, bounds)).toBe(outcome);
  const judged = judge(completed(7), bounds);
  expect(judge(judged, bounds)).toBe(judged);
});

test('a timeout has its own score, every other failure that of a crash', () => {
  for (const cause of FAILURE_CAUSES) {
    const value = cause === 'timeout' ? -0.5 : -1;
    expect(computeScore({ kind: 'failed', cause, detail: '' }, scores, bounds)).toEqual({ low: value, high: value });
  }
});

test('an unresolved episode could have had any return', () => {
  expect(computeScore({ kind: 'lost', detail: '' }, scores, bounds)).toEqual({ low: -1, high: 1 });
  expect(computeScore({ kind: 'lost', detail: '' }, scores, undefined)).toEqual({ low: -Infinity, high: Infinity });
  expect(computeScore(completed(0.25), scores, bounds)).toEqual({ low: 0.25, high: 0.25 });
});
