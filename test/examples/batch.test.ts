import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openBatch } from '../../src/app/client/batch-input.ts';

it('the batch of the examples is valid, and finds its checkpoints in order', async () => {
  const { name, checkpoints, suites, file } = await openBatch(join(import.meta.dirname, '../../examples/batch.yaml'));
  expect(name).toBe('batch');
  expect(checkpoints.map(({ named }) => named.run)).toEqual(['early', 'late', 'middle']);
  expect(suites).toMatchObject([{ title: 'game/cartpole.yaml', suite: { name: 'cartpole' } }]);
  expect(file.stop).toEqual({ rule: 'fixed', episodes: 100 });
});
