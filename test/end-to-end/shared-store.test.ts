import nock from 'nock';
import { beforeAll, expect, it } from 'vitest';
import { PostgresServer } from '../support/postgres-server.ts';
import { MusterServer, suiteOf } from './muster-server.ts';
import { CARTPOLE, LATE, SOURCES, Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

/** They take longer than a second Muster takes to start. */
const EPISODES = 1200;

it('of two Musters on one PostgreSQL one takes over what the other was playing when it was killed', async () => {
  await using postgres = await PostgresServer.start();
  await using stage = await Stage.open();
  const reference = (await stage.run(['eval', CARTPOLE, '-c', LATE, '--episodes', String(EPISODES), '--json', '-n', '1'])).summary();
  const config = await stage.write('shared.json', {
    store: { url: await postgres.newDatabase() },
    sources: SOURCES,
    server: { port: 0, ownershipSeconds: 3, pollSeconds: 0.5 },
    pool: { max: 1 },
  });
  const first = await MusterServer.start(stage, config);
  const { id } = await first.submit({
    suite: await suiteOf(CARTPOLE),
    checkpoint: { uri: LATE },
    stop: { rule: 'fixed', episodes: EPISODES },
  });
  await first.command.until('it is played', async () => (await first.indices(id)).length >= 20);
  const second = await MusterServer.start(stage, config);
  expect(await second.find(id)).toMatchObject({ state: 'running' });
  first.command.signal('SIGKILL');
  await first.command.ended;
  const evaluation = await second.untilOver(id);
  expect(JSON.stringify(Object(evaluation.summary).official)).toBe(JSON.stringify(reference.official));
  const indices = await second.indices(id);
  expect(new Set(indices).size).toBe(indices.length);
  second.command.signal('SIGTERM');
  expect(await second.command.ended).toMatchObject({ exitCode: 0 });
});
