import { afterAll, beforeAll } from 'vitest';
import { PostgresServer } from '../support/postgres-server.ts';
import { evaluationStoreContract } from './evaluation-store.ts';
import { rolloutStreamsContract } from './rollout-streams.ts';
import { makeTables, subjectAt } from './stored/opened-stores.ts';
import { taskRecordsContract } from './task-records.ts';
import { trajectoriesContract } from './trajectories.ts';

let server: PostgresServer;
/** Has the tables already: to make them takes twice as long as to copy them. */
let migrated: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  migrated = await server.makeTemplate(makeTables);
});
afterAll(() => server[Symbol.asyncDispose]());

const makeSubject = async (): Promise<ReturnType<typeof subjectAt>> => subjectAt(await server.newDatabase(migrated), async () => undefined);

evaluationStoreContract('PostgreSQL', makeSubject);
trajectoriesContract('PostgreSQL', makeSubject);
taskRecordsContract('PostgreSQL', makeSubject);
rolloutStreamsContract('PostgreSQL', makeSubject);
