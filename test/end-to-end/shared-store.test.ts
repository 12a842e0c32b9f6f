import nock from 'nock';
import { beforeAll, expect, it } from 'vitest';
import { PostgresServer } from '../support/postgres-server.ts';
import { MusterServer } from './muster-server.ts';
import { ANYTHING, seedOf, Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const EPISODES = 200;
/** However long a second Muster takes to start, the first is not through with this one. */
const GATE = `playing-${seedOf(EPISODES - 1)}`;

it('one of two Musters on one PostgreSQL takes over what the other was playing when it was killed', async () => {
  await using postgres = await PostgresServer.start();
  await using stage = await Stage.open();
  const suite = await stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes: EPISODES }, episode: { seconds: 3600 } } });
  const reference = (await stage.call(['eval', suite, '-c', ANYTHING, '--json', '-n', '1'])).summary();
  const config = await stage.gatedServer(suite, {
    store: { url: await postgres.newDatabase() },
    server: { ownershipSeconds: 3, pollSeconds: 0.5 },
    pool: { max: 1 },
  });
  await stage.closeGates(GATE);
  const first = await MusterServer.start(stage, config);
  const { id } = await first.submit({ suite: 'gated', checkpoint: { uri: ANYTHING } });
  await first.command.until('it is played', async () => (await first.indices(id)).length >= 20);
  const second = await MusterServer.start(stage, config);
  expect(await second.find(id)).toMatchObject({ state: 'running' });
  first.command.signal('SIGKILL');
  await first.command.ended;
  await stage.openGates(GATE);
  const evaluation = await second.untilOver(id);
  expect(JSON.stringify(Object(evaluation.summary).official)).toBe(JSON.stringify(reference.official));
  const indices = await second.indices(id);
  expect(new Set(indices).size).toBe(indices.length);
  second.command.signal('SIGTERM');
  expect(await second.command.ended).toMatchObject({ exitCode: 0 });
});
