import { expect, test } from 'vitest';
import { isForgotten, isGone, createLabels, readLabel } from '../../../../src/adapters/sandbox/e2b/ownership.ts';
import { identifyThisProcess } from '../../../../src/adapters/sandbox/local/owner-record.ts';
import { parseOwnerId, parseSandboxId } from '../../../../src/kernel/ids.ts';
import { TEMPLATE } from '../../../support/evaluation-fixture.ts';

const [owner, id] = [parseOwnerId('owner'), parseSandboxId('s1')];
const self = await identifyThisProcess();
const metadata = await createLabels(owner, id, TEMPLATE);

test('the record on a sandbox is read back', () => {
  expect(readLabel({ metadata })).toEqual({ owner, id, process: self });
});

test.each([
  ['nothing', {}],
  ['another program’s', { muster: 'sandbox', 'muster-owner': 'x', 'muster-sandbox': 'y', 'muster-process': 'no JSON' }],
  ['an invalid id', { ...metadata, 'muster-sandbox': 'No Id' }],
])('a sandbox with %s written on it is never swept', (_, written) => {
  expect(readLabel({ metadata: written })).toBeUndefined();
});

test('an owner is gone only when it ran on this machine and its process does not run any more', async () => {
  expect(await isGone(self)).toBe(false);
  expect(await isGone({ ...self, startTime: '1' }), 'the process id has been given to another process').toBe(true);
  expect(await isGone({ ...self, bootId: 'another machine', startTime: '1' })).toBe(false);
  expect(await isGone({ ...self, pidNamespace: 'pid:[1]', startTime: '1' })).toBe(false);
});

test('a sandbox is forgotten when it is still paused an hour after its lifetime', () => {
  const startedAt = new Date(0);
  const end = TEMPLATE.limits.lifetimeSeconds * 1000 + 3_600_000;
  expect(isForgotten({ state: 'paused', startedAt, metadata }, end)).toBe(false);
  expect(isForgotten({ state: 'paused', startedAt, metadata }, end + 1)).toBe(true);
  expect(isForgotten({ state: 'running', startedAt, metadata }, end + 1), 'E2B ends it').toBe(false);
  expect(isForgotten({ state: 'paused', startedAt, metadata: {} }, end + 1), 'its lifetime is unknown').toBe(false);
});
