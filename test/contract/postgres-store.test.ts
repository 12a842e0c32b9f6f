import { afterAll, beforeAll } from 'vitest';
import { PostgresServer } from '../support/postgres-server.ts';
import { evaluationStoreContract } from './evaluation-store.ts';
import { subjectAt } from './stored/opened-stores.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

evaluationStoreContract('PostgreSQL', async () => subjectAt(await server.newDatabase(), async () => undefined));
