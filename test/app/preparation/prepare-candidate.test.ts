import { expect, it } from 'vitest';
import { withPatience } from '../../../src/app/preparation/prepare-candidate.ts';
import { InfrastructureError } from '../../../src/kernel/errors.ts';

const BASE = { id: 'a', kind: 'fix', title: 'Mend', refusal: null, void: null, task: null, evidence: {} } as const;

it('an infrastructure that fails is tried again, and leaves one candidate void where it goes on failing, not the whole preparation', async () => {
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
