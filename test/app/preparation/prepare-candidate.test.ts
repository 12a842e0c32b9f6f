import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { workThrough } from '../../../src/app/preparation/prepare.ts';
import { withPatience } from '../../../src/app/preparation/prepare-candidate.ts';
import { countEpisodes } from '../../../src/app/preparation/prove-tasks.ts';
import { createEpisodePlanner } from '../../../src/orchestrator/suite/suite-definition.ts';
import { InfrastructureError } from '../../../src/kernel/errors.ts';

const BASE = { id: 'a', kind: 'fix', title: 'Mend', refusal: null, void: null, task: null, evidence: {} } as const;

it('a failing infrastructure is retried, and a permanent failure voids one candidate, not the whole preparation', async () => {
  const { signal } = new AbortController();
  let failures = 0;
  const failing = (times: number) => async () => {
    if (failures++ < times) throw new InfrastructureError('sandbox.lost', 'the sandbox is gone');
    return { ...BASE, task: { directory: 'a', id: 'a', digest: 'a' } };
  };
  expect(await withPatience(BASE, failing(2), { retryMilliseconds: 0 }, signal)).toMatchObject({ void: null, task: { id: 'a' } });
  failures = 0;
  const lost = await withPatience(BASE, failing(9), { retryMilliseconds: 0 }, signal);
  expect(lost).toEqual({ ...BASE, void: 'the infrastructure failed 3 times: the sandbox is gone' });
  expect(failures).toBe(3);
  const broken = async (): Promise<typeof BASE> => Promise.reject(new RangeError('a defect'));
  await expect(withPatience(BASE, broken, { retryMilliseconds: 0 }, signal)).rejects.toThrow('a defect');
});

it.each([1, 3])('%i candidates are prepared at a time, and the results keep their order', async (workers) => {
  const held = Array.from({ length: 7 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const all = workThrough([...held.keys()], workers, async (at) => {
    begun.push(at);
    await held[at]?.promise;
    return 10 * at;
  });
  for (const [at, { resolve }] of held.entries()) {
    await setImmediate();
    expect(begun).toHaveLength(Math.min(at + workers, held.length));
    resolve();
  }
  expect(await all).toEqual([0, 10, 20, 30, 40, 50, 60]);
});

it.each([1, 2, 3, 10, 50])('the last proof of %i tasks plays each of them, and two episodes a task at least', (count) => {
  const environment = { entry: 'muster:AgentTask', kwargs: {}, wrappers: [] };
  const suite = { seed: 1, tasks: Array.from({ length: count }, (_, at) => ({ name: `${at}`, weight: 1, environment })) };
  const plan = createEpisodePlanner(suite);
  const episodes = countEpisodes(suite);
  const played = Array.from({ length: episodes }, (_, index) => plan(index).task);
  expect(new Set(played).size).toBe(count);
  expect(episodes).toBeGreaterThanOrEqual(2 * count);
  expect(episodes === 2 * count || new Set(played.slice(0, -1)).size < count).toBe(true);
});
