import nock from 'nock';
import { beforeAll, expect, it } from 'vitest';
import type { DeliveredGroup } from '../../src/agents/rollouts/streams/delivered-group.ts';
import { connect } from '../../src/app/client/server-client.ts';
import type { MusterClient } from '../../src/faces/client/muster-client.ts';
import { extent, isFullForm } from '../support/full-form.ts';
import type { AskedCompletion, ScriptedReply } from '../support/model-server.ts';
import { killWorkspaces } from '../support/process-table.ts';
import { SHELL_PROGRAM } from '../support/shell-program.ts';
import type { MusterServer } from './muster-server.ts';
import { killedTrainer, lesson, prepareTraining, takeOne, type Training } from './training-stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

/** The short form is in rollouts.test.ts, which kills a trainer and a Muster. */
const GROUPS = extent({ short: 0, full: 60, variable: 'MUSTER_ROLLOUT_GROUPS' });
/** Requests of programs to their model between two faults. */
const REQUESTS_PER_FAULT = Math.max(5, Math.floor(0.4 * GROUPS));
const GROUPS_PER_DEAD_TRAINER = 3;
const MOST_MS = 4 * 3_600_000;
/** A server that no fault strikes runs for as long as the test, however busy the machine is. */
const SERVED = { deadlineMs: MOST_MS };
const LEASE_SECONDS = 5;
const TERMS = { groupSize: 2, concurrency: 4, batch: GROUPS, maxStaleness: 0, total: GROUPS, keepFiltered: true } as const;

/** By its seed, a program learns the answer or not. */
function answer({ messages, seed = 0 }: AskedCompletion): ScriptedReply {
  const turn = messages.filter(({ role }) => role === 'assistant').length;
  return { text: ['ls', `echo ${(seed - turn) % 2 === 0 ? 42 : 'no'} > answer.txt`, 'cat answer.txt'][turn] ?? 'done' };
}

/** Kills one part after the other: workspaces with the programs in them, the model's server, Muster. */
class Killer {
  readonly killed = { workspaces: 0, models: 0, servers: 0, trainers: 0 };
  readonly #training: Training;
  #server: MusterServer;
  #faults = 0;
  #striking: Promise<void> = Promise.resolve();
  readonly #failed = Promise.withResolvers<never>();
  /** Rejects when a part cannot be killed or does not come back: without it a trainer would only say that it reaches no server. */
  readonly failed = this.#failed.promise;

  constructor(training: Training, server: MusterServer) {
    this.#training = training;
    this.#server = server;
  }

  /** Does not wait for the fault: the others go on meanwhile. */
  strike(): void {
    const fault = this.#faults++;
    this.#striking = this.#striking.then(() => this.#kill(fault));
    this.#striking.catch(this.#failed.reject);
  }

  /** Once everything is there again. */
  async settled(): Promise<MusterServer> {
    await this.#striking;
    return this.#server;
  }

  async #kill(fault: number): Promise<void> {
    const { stage, model, serve } = this.#training;
    if (fault % 3 === 0) this.killed.workspaces += killWorkspaces(stage.path(''));
    else if (fault % 3 === 1) {
      const { port } = model;
      await model.kill();
      await model.startAgain(port);
      this.killed.models += 1;
    } else {
      this.#server.command.signalGroup('SIGKILL');
      await this.#server.command.ended;
      this.#server = await serve(SERVED);
      this.killed.servers += 1;
    }
  }
}

/** Takes and acknowledges all groups of a stream. @returns the trainer's ledger, and how often a group was acknowledged that it had already. */
async function train(client: MusterClient, stream: string, between: (taken: number) => Promise<void>): Promise<[DeliveredGroup[], number]> {
  const ledger = new Map<string, DeliveredGroup>();
  let twice = 0;
  while (ledger.size < GROUPS) {
    const group = await takeOne(client, stream, LEASE_SECONDS);
    if (ledger.has(group.group)) twice += 1;
    ledger.set(group.group, group);
    await client.rollouts.acknowledge(stream, [group]);
    await between(ledger.size);
  }
  return [[...ledger.values()], twice];
}

const sorted = (groups: readonly DeliveredGroup[]): unknown[] =>
  [...groups].sort((one, other) => one.group.localeCompare(other.group, 'en', { numeric: true })).map(lesson);

it.runIf(isFullForm)(
  'groups of programs are delivered and acknowledged once when trainer, Muster, model server and sandboxes are killed',
  { timeout: MOST_MS },
  async () => {
    let requests = 0;
    let killer: Killer | undefined;
    await using training = await prepareTraining(
      (asked) => {
        requests += 1;
        if (requests % REQUESTS_PER_FAULT === 0) killer?.strike();
        return answer(asked);
      },
      'off',
      SHELL_PROGRAM,
    );
    const first = await training.serve(SERVED);
    const client = connect(first.url, { retry: { patienceMilliseconds: 300_000 } });
    const [calm] = await train(client, (await client.startRollouts(training.agent, 'code', TERMS)).id, async () => undefined);
    expect(calm.flatMap(({ trajectories }) => trajectories.map(({ stopReason }) => stopReason))).toEqual(
      Array(GROUPS * TERMS.groupSize).fill('submitted'),
    );

    requests = 0;
    const { id } = await client.startRollouts(training.agent, 'code', TERMS);
    const killing = (killer = new Killer(training, first));
    const taking = train(client, id, async (taken) => {
      if (taken % GROUPS_PER_DEAD_TRAINER !== 0 || taken === GROUPS) return;
      // The trainer that is to die needs a server to lease a group from.
      killer = undefined;
      await killedTrainer((await killing.settled()).url, id);
      killing.killed.trainers += 1;
      killer = killing;
    });
    const [ledger, twice] = await Promise.race([taking, killing.failed]);
    killer = undefined;
    await killing.settled();
    expect(Math.min(...Object.values(killing.killed)), `each kind has struck: ${JSON.stringify(killing.killed)}`).toBeGreaterThan(0);
    expect(twice).toBe(0);
    expect(sorted(ledger)).toEqual(sorted(calm));
    expect(await client.rollouts.get(id)).toMatchObject({ state: 'completed', groups: { acknowledged: GROUPS, stale: 0 } });
  },
);
