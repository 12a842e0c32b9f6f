import { join } from 'node:path';
import { ScratchDirectory } from '../policy-distribution/scratch-directory.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { evaluationStoreContract } from './evaluation-store.ts';
import { subjectAt } from './stored/opened-stores.ts';

failOnLeftoverProcesses();

evaluationStoreContract('SQLite', async () => {
  const directory = await ScratchDirectory.make();
  return subjectAt(join(directory.path, 'state', 'muster.db'), () => directory[Symbol.asyncDispose]());
});
