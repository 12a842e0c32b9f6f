import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import nock from 'nock';
import { beforeAll, expect, it } from 'vitest';
import { extent } from '../../support/full-form.ts';
import { PostgresServer } from '../../support/postgres-server.ts';
import { killWorkspaces } from '../../support/process-table.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { MusterServer } from '../muster-server.ts';
import { Stage } from '../stage.ts';
import { Patience } from './patience.ts';
import { playScript, TASKS, type Trajectory } from './scripted-agents.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const EPISODES = extent({ short: 4, full: 500, variable: 'MUSTER_ARENA_EPISODES' });
const AT_ONCE = 4;
/** Steps between two faults, on the average. */
const STEPS_PER_FAULT = extent({ short: 5, full: 40 });

/** A thousand episodes in all, on a machine that is busy. */
const MOST_MS = extent({ short: 180_000, full: 4 * 3_600_000 });

/** For which nothing moves on when an episode is lost: the others play on meanwhile, then they are over. */
const STANDSTILL_MS = extent({ short: 170_000, full: 600_000 });

/** Draws numbers from 0 to 1 that are the same each time. */
function randomNumbers(): () => number {
  let state = 20_241_124;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

function isOther({ disturbed, peaceful }: { readonly disturbed: Trajectory; readonly peaceful: Trajectory | undefined }): boolean {
  return !isDeepStrictEqual(disturbed, peaceful);
}

async function playAll(url: () => string, afterStep: () => Promise<void>): Promise<readonly Trajectory[]> {
  const place = { url, patience: new Patience(STANDSTILL_MS) };
  const found: Trajectory[] = [];
  const left = Array.from({ length: EPISODES }, (_, index) => index).values();
  const play = async (): Promise<void> => {
    for (const index of left) found[index] = await playScript(index, place, afterStep);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, play));
  return found;
}

/** Two servers with a state directory each, of which one is spoken to until it is killed, and the live tier that they share. */
class Pair {
  readonly #start: (name: string) => Promise<MusterServer>;
  readonly #stage: Stage;
  readonly #redis: RedisServer;
  #active: MusterServer;
  #other: Promise<MusterServer>;
  /** Servers, workspaces and states of the live tier that were there when they were killed. */
  readonly killed = { servers: 0, workspaces: 0, states: 0 };

  private constructor(stage: Stage, redis: RedisServer, start: (name: string) => Promise<MusterServer>, active: MusterServer) {
    this.#stage = stage;
    this.#redis = redis;
    this.#start = start;
    this.#active = active;
    this.#other = start('other');
  }

  static async start(stage: Stage, redis: RedisServer, start: (name: string) => Promise<MusterServer>): Promise<Pair> {
    return new Pair(stage, redis, start, await start('one'));
  }

  get url(): string {
    return this.#active.url;
  }

  async ready(): Promise<void> {
    await this.#other;
  }

  /** @param fault by its number: one kind after the other. */
  async strike(fault: number): Promise<void> {
    if (fault % 3 === 0) this.killed.workspaces += killWorkspaces(this.#stage.path(''));
    else if (fault % 3 === 1) await this.#killServer();
    else await this.#killLiveTier();
  }

  /** Another takes over what it was playing; a new one takes the place of that. */
  async #killServer(): Promise<void> {
    const [before, next] = [this.#active, await this.#other];
    before.command.signalGroup('SIGKILL');
    this.#active = next;
    this.killed.servers += 1;
    await before.command.ended;
    this.#other = this.#start(`again-${this.killed.servers}`);
  }

  /** It comes back empty. A server that starts needs it. */
  async #killLiveTier(): Promise<void> {
    await this.ready();
    this.killed.states += await this.#redis.countKeys();
    await this.#redis.kill();
    await this.#redis.startAgain();
  }
}

it('episodes have the same results when servers, workspaces and the live tier are killed', { timeout: MOST_MS }, async () => {
  await using postgres = await PostgresServer.start();
  await using redis = await RedisServer.start('redis');
  await using stage = await Stage.open();
  const store = { url: await postgres.newDatabase() };
  const pair = await Pair.start(stage, redis, async (name) => {
    const config = { stateDir: join(stage.stateDir, name), store, arena: { tasks: [TASKS], live: redis.url } };
    const server = { port: 0, access: 'off', ownershipSeconds: 3, pollSeconds: 0.5 };
    return await MusterServer.start(stage, await stage.write(`${name}.json`, { ...config, server }), { deadlineMs: MOST_MS });
  });
  const url = (): string => pair.url;
  const peaceful = await playAll(url, async () => undefined);
  await pair.ready();
  const random = randomNumbers();
  let steps = 0;
  let fault: Promise<void> = Promise.resolve();
  const disturbed = await playAll(url, async () => {
    steps += 1;
    const faults = steps / STEPS_PER_FAULT;
    if (Number.isInteger(faults)) fault = fault.then(() => pair.strike(faults - 1));
    // Some go on while the fault strikes, and others behind it.
    if (random() < 0.5) await fault;
  });
  await fault;
  await pair.ready();
  expect(Math.min(...Object.values(pair.killed)), 'each kind of fault has struck something').toBeGreaterThan(0);
  // One by one: of five hundred, the difference would not be shown.
  expect(disturbed.length).toBe(peaceful.length);
  expect(disturbed.map((each, i) => ({ disturbed: each, peaceful: peaceful[i] })).filter(isOther)).toEqual([]);
  expect(peaceful.map(({ reward }) => reward)).toEqual(peaceful.map((_, i) => expect.stringContaining(`"reward":${i % 2 === 0 ? 1 : 0},`)));
});
