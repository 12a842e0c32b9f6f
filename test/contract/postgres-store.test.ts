import { afterAll, beforeAll } from 'vitest';
import { PostgresServer } from '../support/postgres-server.ts';
import { evaluationStoreContract } from './evaluation-store.ts';
import { rolloutStreamsContract } from './rollout-streams.ts';
import { subjectAt } from './stored/opened-stores.ts';
import { taskRecordsContract } from './task-records.ts';
import { trajectoriesContract } from './trajectories.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

const makeSubject = async (): Promise<ReturnType<typeof subjectAt>> => subjectAt(await server.newDatabase(), async () => undefined);

evaluationStoreContract('PostgreSQL', makeSubject);
trajectoriesContract('PostgreSQL', makeSubject);
taskRecordsContract('PostgreSQL', makeSubject);
rolloutStreamsContract('PostgreSQL', makeSubject);
