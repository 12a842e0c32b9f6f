import { spawnSync } from 'node:child_process';
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { isFullForm } from '../support/full-form.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import { MusterServer } from './muster-server.ts';
import { ANYTHING, REPOSITORY, seedOf, Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

/** The commands of docs/upkeep.md that are said to be tried here, but for starting and stopping the service. */
async function commandsOf(name: string): Promise<string> {
  const text = await readFile(path.join(REPOSITORY, 'docs/upkeep.md'), 'utf8');
  const block = new RegExp(`<!-- tried by test/end-to-end/backup.test.ts: ${name} -->\\n\\n\`\`\`sh\\n([^\`]*)\`\`\``).exec(text)?.[1];
  if (block === undefined) throw new Error(`docs/upkeep.md has no commands for ${name}`);
  return block.replaceAll(/^systemctl .*$/gm, '');
}

async function follow(stage: Stage, name: string, storeUrl = ''): Promise<void> {
  // Settings of the shell that the tests were started from are not this server's.
  const { PATH = '', HOME = '/' } = process.env;
  const { status, stderr, stdout } = spawnSync('sh', ['-e', '-u', '-c', await commandsOf(name)], {
    cwd: REPOSITORY,
    encoding: 'utf8',
    env: { PATH, HOME, STATE: stage.stateDir, BACKUP: stage.path('backup'), STORE_URL: storeUrl },
  });
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}${stdout}`);
}

const EPISODES = 60;

/** One evaluation that is over, and one that is under way with episodes that are stored. */
async function begun(stage: Stage, store?: object) {
  const suite = await stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes: EPISODES }, episode: { seconds: 3600 } } });
  const config = await stage.gatedServer(suite, {
    server: { drainSeconds: 0, reportSeconds: 0.1, ownershipSeconds: 3, pollSeconds: 0.5 },
    pool: { max: 1 },
    ...(store && { store }),
  });
  const server = await MusterServer.start(stage, config);
  const over = await server.submit({ suite: 'gated', checkpoint: { uri: ANYTHING } }, '?wait=60');
  expect(over.state).toBe('finished');
  await stage.closeGates(`playing-${seedOf(30)}`);
  const { id } = await server.submit({ suite: 'gated', checkpoint: { uri: ANYTHING }, cache: 'off' });
  await server.command.until('episodes are stored', async () => (await server.indices(id)).length >= 10);
  return { config, server, over, id };
}

async function stopped({ command }: MusterServer): Promise<void> {
  command.signal('SIGTERM');
  expect(await command.ended).toMatchObject({ exitCode: 0 });
}

describe('a server that is restored as the documentation has it', () => {
  it('answers finished evaluations, and continues unfinished ones, from SQLite', async () => {
    await using stage = await Stage.open();
    await mkdir(stage.path('backup'));
    const { config, server, over, id } = await begun(stage);
    await stopped(server);
    await follow(stage, 'backup-sqlite');
    await follow(stage, 'restore-sqlite');
    await rm(`${stage.stateDir}.before`, { recursive: true });
    await stage.openGates(`playing-${seedOf(30)}`);
    const again = await MusterServer.start(stage, config);
    expect(await again.find(over.id)).toEqual(over);
    const finished = await again.untilOver(id);
    expect(JSON.stringify(Object(finished.summary).official)).toBe(JSON.stringify(Object(over.summary).official));
    expect(Object(finished.summary).run.recalled).toBeGreaterThanOrEqual(10);
    await stopped(again);
  });

  it.runIf(isFullForm)('does so from PostgreSQL, from a backup that was made while it played', async () => {
    await using stage = await Stage.open();
    await using postgres = await PostgresServer.start();
    await mkdir(stage.path('backup'));
    const url = await postgres.newDatabase();
    const { config, server, over, id } = await begun(stage, { url });
    await follow(stage, 'backup-postgresql', url);
    server.command.signal('SIGKILL');
    await server.command.ended;
    const other = await postgres.newDatabase();
    await follow(stage, 'restore-postgresql', other);
    await follow(stage, 'restore-sqlite');
    await rm(`${stage.stateDir}.before`, { recursive: true });
    await stage.openGates(`playing-${seedOf(30)}`);
    const again = await MusterServer.start(stage, config, { environment: { MUSTER_STORE__URL: other } });
    expect(await again.find(over.id)).toEqual(over);
    const finished = await again.untilOver(id);
    expect(JSON.stringify(Object(finished.summary).official)).toBe(JSON.stringify(Object(over.summary).official));
    expect(Object(finished.summary).run.recalled).toBeGreaterThanOrEqual(10);
    await stopped(again);
  });
});
