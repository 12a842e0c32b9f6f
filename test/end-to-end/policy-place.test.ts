import nock from 'nock';
import { beforeAll, expect, it } from 'vitest';
import { connect } from '../../src/app/client/server-client.ts';
import type { MusterClient } from '../../src/faces/client/muster-client.ts';
import { eventually } from '../support/eventually.ts';
import { FORGERY, mazePolicy, mazeSuite } from './maze.ts';
import { MusterServer } from './muster-server.ts';
import { LATE, Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const EPISODES = 3;

/** A server with tokens whose suites differ in their templates. */
class Arena implements AsyncDisposable {
  readonly client: MusterClient;
  readonly stage: Stage;
  readonly #server: MusterServer;

  private constructor(stage: Stage, server: MusterServer, token: string) {
    this.stage = stage;
    this.#server = server;
    this.client = connect(server.url, { token });
  }

  static async open(): Promise<Arena> {
    const stage = await Stage.open();
    const templates = {
      trusting: { policy: 'together' },
      walled: { provider: 'gvisor' },
      own: { command: ['/bin/true'] },
      elsewhere: { provider: 'e2b' },
    };
    const suites: Record<string, string> = {};
    for (const template of ['local', ...Object.keys(templates)]) {
      const changes = { name: template, template };
      suites[template] = await stage.write(`${template}.yaml`, await mazeSuite(stage, EPISODES, changes));
    }
    suites['cartpole'] = await stage.write('cartpole.yaml', {
      name: 'cartpole',
      environment: 'gymnasium:CartPole-v1',
      reward: { bounds: [0, 500] },
      stop: { rule: 'fixed', episodes: EPISODES },
    });
    const config = { server: { port: 0, drainSeconds: 0, access: 'tokens', suites }, templates, pool: { max: 1, warm: 1, idleSeconds: 1 } };
    const token = await stage.token('caller', 'submitter');
    return new Arena(stage, await MusterServer.start(stage, await stage.write('arena.json', config)), token);
  }

  async mean(checkpoint: string, suite: string): Promise<number | null> {
    return (await this.client.evaluate(checkpoint, suite)).official.mean;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.command.signal('SIGTERM');
    await this.#server.command.ended;
    await this.stage[Symbol.asyncDispose]();
  }
}

it('on a server with tokens, code of a checkpoint is played apart unless the operator decides otherwise, and refused if that is impossible', async () => {
  await using arena = await Arena.open();
  const forger = await mazePolicy(arena.stage, 'forger', FORGERY);
  expect(await arena.mean(forger, 'local')).toBe(0);
  // The operator's word in the template. Its outcome differs from what is reported for the other.
  expect(await arena.mean(forger, 'trusting')).toBeGreaterThan(0);
  for (const suite of ['walled', 'own', 'elsewhere'])
    await expect(arena.client.submit(forger, suite)).rejects.toMatchObject({
      code: 'template.policy-together',
      message: expect.stringContaining('policy: together'),
    });
  // Data plays beside it on the same template, in the environment's process: one pool from outside.
  expect(await arena.mean(LATE, 'cartpole')).toBe(500);
  const pools = await arena.client.pools();
  expect(pools.find(({ name }) => name === 'local')).toMatchObject({ max: 1, totals: { leases: 2 } });
  await eventually('one sandbox is kept warm, and not one of each kind', async () => {
    const { sandboxes } = (await arena.client.pools()).find(({ name }) => name === 'local') ?? {};
    return sandboxes !== undefined && Object.values(sandboxes).reduce((sum, count) => sum + count) === 1;
  });
  // It is not refused where policies cannot be apart.
  expect(await arena.client.submit(LATE, 'walled')).toMatchObject({ suite: 'walled' });
});
