import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MusterServer, suiteOf } from './muster-server.ts';
import { CARTPOLE, LATE, SOURCES, Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const poolsSchema = z.looseObject({ items: z.array(z.looseObject({ name: z.string(), max: z.int() })) });
const EPISODES = 300;

async function maxOf({ url }: MusterServer): Promise<number | undefined> {
  const answer = await fetch(`${url}/v1/pools`);
  return poolsSchema.parse(await answer.json()).items.find(({ name }) => name === 'local')?.max;
}

describe('SIGHUP', () => {
  it('makes a server read its configuration again while it plays, and a wrong file changes nothing', { timeout: 120_000 }, async () => {
    await using stage = await Stage.open();
    const missing = stage.path('suites/later.yaml');
    const suites = { cartpole: CARTPOLE, later: missing };
    const config = { sources: SOURCES, server: { port: 0, suites }, pool: { max: 2 } };
    const file = await stage.write('server.json', config);
    const server = await MusterServer.start(stage, file);
    const { command } = server;
    expect(command.stderr).toMatch(
      /^muster: server\.suites\.later: .*later\.yaml cannot be read: ENOENT: no such file or directory; expected .*; evaluations of it are refused/,
    );
    expect(command.stderr).not.toContain('server.suites.cartpole');
    const reload = async (content: object | string, message: string): Promise<void> => {
      await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
      const seen = command.stderr.length;
      command.signal('SIGHUP');
      await command.until(`it tells: ${message}`, () => command.stderr.slice(seen).includes(message));
    };
    const asked = { suite: await suiteOf(CARTPOLE), checkpoint: { uri: LATE }, stop: { rule: 'fixed', episodes: EPISODES } };
    const { id } = await server.submit(asked);
    await command.until('episodes are stored', async () => (await server.indices(id)).length >= 10);

    await reload({ ...config, pool: { max: 'many' } }, 'server.json');
    expect(command.stderr).toContain('the configuration in force stays; correct this');
    expect(command.stderr).toMatch(/pool\.max: expected "auto" or a whole number from 1 to \d+, got "many"/);
    await reload('pool: {', 'expected YAML');
    await reload(config, 'nothing has changed\n  server.suites.later: ');
    await mkdir(path.dirname(missing));
    await copyFile(CARTPOLE, missing);
    await reload(config, 'nothing has changed\n');
    expect(command.stderr).toMatch(/nothing has changed\n$/);
    expect(await maxOf(server)).toBe(2);

    const quotas = { default: { episodesPerDay: 5 } };
    await reload({ sources: { roots: [] }, server: { port: 4711, suites }, pool: { max: 3 }, quotas }, 'these take a restart: server.port');
    expect(command.stderr).toContain('changed pool.max, quotas.default.episodesPerDay, sources.roots;');
    expect(await maxOf(server)).toBe(3);
    await expect(server.submit(asked)).rejects.toThrow('quota.episodes-per-day');
    await reload({ server: { port: 4711, suites }, pool: { max: 3 } }, 'changed quotas.default.episodesPerDay;');
    await expect(server.submit(asked)).rejects.toThrow('checkpoint.outside');

    expect(await server.untilOver(id)).toMatchObject({ state: 'finished', failure: null, summary: { official: { episodes: EPISODES } } });
    command.signal('SIGTERM');
    expect(await command.ended).toMatchObject({ exitCode: 0 });
  });
});
