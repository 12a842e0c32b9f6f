import { expect, it } from 'vitest';
import { withTimeout } from '../../src/kernel/deadline.ts';
import { getMessage } from '../../src/kernel/errors.ts';
import { ManualClock } from '../support/manual-clock.ts';

const late = (): Error => new Error('too late');

it.each([
  { what: 'its value', end: 'value', expected: 'given' },
  { what: 'its failure', end: 'failure', expected: 'failed' },
  { what: 'the time', end: 'time', expected: 'too late' },
  { what: 'the reason of the signal', end: 'signal', expected: 'stopped' },
  { what: 'the reason of a signal that was aborted before', end: 'aborted', expected: 'stopped' },
] as const)('a promise with a timeout ends with $what', async ({ end, expected }) => {
  const clock = new ManualClock();
  const outer = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  if (end === 'aborted') outer.abort(new Error('stopped'));
  const outcome = withTimeout(clock, 1000, promise, late, outer.signal).catch(getMessage);
  if (end === 'value') resolve('given');
  if (end === 'failure') reject(new Error('failed'));
  if (end === 'time') await clock.advance(1000);
  if (end === 'signal') outer.abort(new Error('stopped'));
  expect(await outcome).toBe(expected);
  expect(clock.pending, 'no timer is left').toBe(0);
  resolve('later, and of no interest');
});
