import { join } from 'node:path';
import nock from 'nock';
import { beforeAll, expect, it } from 'vitest';
import { extent } from '../../support/full-form.ts';
import { PostgresServer } from '../../support/postgres-server.ts';
import { killWorkspaces } from '../../support/process-table.ts';
import { MusterServer } from '../muster-server.ts';
import { Stage } from '../stage.ts';
import { playScript, TASKS, type Trajectory } from './scripted-agents.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const EPISODES = extent({ short: 4, full: 500, variable: 'MUSTER_ARENA_EPISODES' });
const AT_ONCE = 4;
/** Steps between two faults, on the average. */
const STEPS_PER_FAULT = extent({ short: 6, full: 40 });

/** A thousand episodes in all, on a machine that is busy. */
const MOST_MS = extent({ short: 180_000, full: 4 * 3_600_000 });

/** Draws numbers from 0 to 1 that are the same each time. */
function randomNumbers(): () => number {
  let state = 20_241_124;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

async function playAll(url: () => string, afterStep: () => Promise<void>): Promise<readonly Trajectory[]> {
  const found: Trajectory[] = [];
  const left = Array.from({ length: EPISODES }, (_, index) => index).values();
  const play = async (): Promise<void> => {
    for (const index of left) found[index] = await playScript(index, url, afterStep);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, play));
  return found;
}

/** Two servers with a state directory each, of which one is spoken to until it is killed. */
class Pair {
  readonly #start: (name: string) => Promise<MusterServer>;
  readonly #stage: Stage;
  #active: MusterServer;
  #other: Promise<MusterServer>;
  killed = 0;
  lost = 0;

  private constructor(stage: Stage, start: (name: string) => Promise<MusterServer>, active: MusterServer, other: Promise<MusterServer>) {
    this.#stage = stage;
    this.#start = start;
    this.#active = active;
    this.#other = other;
  }

  static async start(stage: Stage, start: (name: string) => Promise<MusterServer>): Promise<Pair> {
    return new Pair(stage, start, await start('one'), start('other'));
  }

  get url(): string {
    return this.#active.url;
  }

  async ready(): Promise<void> {
    await this.#other;
  }

  /** Another takes over what it was playing; a new one takes the place of that. */
  async killServer(): Promise<void> {
    const [before, next] = [this.#active, await this.#other];
    before.command.signalGroup('SIGKILL');
    this.#active = next;
    this.killed += 1;
    await before.command.ended;
    this.#other = this.#start(`again-${this.killed}`);
  }

  killSandboxes(): void {
    this.lost += killWorkspaces(this.#stage.path(''));
  }
}

it(
  'episodes come to the same whatever is killed: servers, which take over from one another, and workspaces',
  { timeout: MOST_MS },
  async () => {
    await using postgres = await PostgresServer.start();
    await using stage = await Stage.open();
    const store = { url: await postgres.newDatabase() };
    const pair = await Pair.start(stage, async (name) => {
      const config = { stateDir: join(stage.stateDir, name), store, arena: { tasks: [TASKS] } };
      const server = { port: 0, access: 'off', ownershipSeconds: 3, pollSeconds: 0.5 };
      return await MusterServer.start(stage, await stage.write(`${name}.json`, { ...config, server }), { deadlineMs: MOST_MS });
    });
    const peaceful = await playAll(
      () => pair.url,
      async () => undefined,
    );
    await pair.ready();
    const random = randomNumbers();
    let steps = 0;
    let fault: Promise<void> = Promise.resolve();
    const disturbed = await playAll(
      () => pair.url,
      async () => {
        steps += 1;
        if (steps % STEPS_PER_FAULT === 0) {
          const kill = steps % (2 * STEPS_PER_FAULT) === 0 ? () => pair.killServer() : () => pair.killSandboxes();
          fault = fault.then(kill);
        }
        // Some go on while the fault strikes, and others behind it.
        if (random() < 0.5) await fault;
      },
    );
    await fault;
    await pair.ready();
    expect([pair.killed > 0, pair.lost > 0]).toEqual([true, true]);
    expect(disturbed).toEqual(peaceful);
    expect(peaceful.map(({ reward }) => reward)).toEqual(peaceful.map((_, i) => expect.objectContaining({ reward: i % 2 === 0 ? 1 : 0 })));
  },
);
