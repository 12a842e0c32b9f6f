import { join } from 'node:path';
import type { EvaluationStore } from '../../src/evaluation-store/evaluation-store.ts';
import { ScratchDirectory } from '../policy-distribution/scratch-directory.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { openStore } from '../support/store-place.ts';
import { evaluationStoreContract } from './evaluation-store.ts';

failOnLeftoverProcesses();

evaluationStoreContract('SQLite', async () => {
  const directory = await ScratchDirectory.make();
  const place = join(directory.path, 'state', 'muster.db');
  const clock = new ManualClock();
  const opened: EvaluationStore[] = [];
  return {
    place,
    clock,
    open: async () => {
      const store = await openStore(place, clock);
      opened.push(store);
      return store;
    },
    [Symbol.asyncDispose]: async () => {
      for (const store of opened) await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
});
