import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GivenAction } from '../../../src/agents/actions/action.ts';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../../src/app/client/server-client.ts';
import { isFullForm } from '../../support/full-form.ts';
import { explainMissingRedis, RedisServer } from '../../support/redis-server.ts';
import { MusterServer } from '../muster-server.ts';
import { REPOSITORY, Stage } from '../stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const TASKS = join(REPOSITORY, 'examples/code');
const TASK = 'fix-bug-in-sort-function';

/** What an agent does, with a step that is sent twice and one that is refused. */
async function actions(): Promise<readonly (readonly [number, GivenAction])[]> {
  const content = await readFile(join(TASKS, TASK, 'solution/sorting.py'), 'utf8');
  const append: GivenAction = { action: 'run', command: 'echo once >>count; wc -l <count' };
  return [
    [1, append],
    [1, append],
    [2, { action: 'read_file', file: '/etc/passwd' }],
    [3, { action: 'write_file', file: 'sorting.py', content }],
    [4, { action: 'run', command: 'wc -l <count; cat sorting.py' }],
    [5, { action: 'submit' }],
    [5, { action: 'submit' }],
  ];
}

interface Played {
  readonly observations: readonly unknown[];
  readonly reward: number | null;
  readonly stored: number;
}

/** @param between is done before every request. */
async function play(url: string, between: () => Promise<void>): Promise<Played> {
  const { arena } = connect(url);
  const { episode } = await arena.start(TASK, 'wiped');
  const observations: unknown[] = [];
  for (const [number, action] of await actions()) {
    await between();
    const { step, observation, done } = await arena.step(episode, number, action);
    observations.push({ step, observation, done });
  }
  await between();
  const { reward } = await arena.reward(episode);
  const { steps: stored } = await arena.get(episode);
  return { observations, reward, stored };
}

/** In the short form, takeover.test.ts kills the live tier and step-protocol.test.ts wipes it. */
describe.runIf(isFullForm && explainMissingRedis('redis') === undefined)('the live state of episodes in Redis', () => {
  it('can be wiped or killed between any two operations, with the same observations and reward', async () => {
    await using stage = await Stage.open();
    await using redis = await RedisServer.start('redis', 'hush');
    const config = (live: string): object => ({
      log: { level: 'warn' },
      server: { port: 0, access: 'off' },
      arena: { tasks: [TASKS], live },
    });
    const undisturbed = await MusterServer.start(stage, await stage.write('memory.json', config('memory')));
    const expected = await play(undisturbed.url, async () => undefined);
    expect(expected).toMatchObject({ reward: expect.closeTo(1, 1), stored: 5 });
    undisturbed.command.signal('SIGTERM');
    await undisturbed.command.ended;

    const { url, command } = await MusterServer.start(stage, await stage.write('redis.json', config(redis.url)));
    const over = new AbortController();
    let wiped = 0;
    const wiping = (async () => {
      while (!over.signal.aborted) wiped += await redis.wipe();
    })();
    expect(await play(url, async () => void (wiped += await redis.wipe()))).toEqual(expected);
    over.abort();
    await wiping;
    expect(wiped).toBeGreaterThan(3);

    let asked = 0;
    const killed = await play(url, async () => {
      asked += 1;
      if (asked === 3) await redis.kill();
      if (asked === 6) await redis.startAgain();
    });
    expect(killed).toEqual(expected);
    expect(command.stderr).toContain('the live state of episodes cannot be used');
    expect(command.stderr).not.toContain('hush');
  });
});
