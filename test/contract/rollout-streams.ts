import { describe, expect, it } from 'vitest';
import type { StoredTurn, StoredTurns } from '../../src/agents/acting/model/stored-turns.ts';
import type { MemberResult } from '../../src/agents/rollouts/streams/member-result.ts';
import {
  type GroupHead,
  type LeaseRequest,
  type NewStream,
  type RolloutStreams,
  type StreamHold,
  StreamLostError,
} from '../../src/agents/rollouts/streams/rollout-streams.ts';
import { parseStreamId, type StreamId } from '../../src/agents/rollouts/streams/stream-ids.ts';
import { parseOwnerId } from '../../src/kernel/ids.ts';
import type { ManualClock } from '../support/manual-clock.ts';

/** An empty place of its own, that can be opened again. */
export interface RolloutStreamsSubject extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly open: () => Promise<AsyncDisposable & { readonly rollouts: RolloutStreams; readonly turns: StoredTurns }>;
}

const ID = parseStreamId('ro-a');
const [ALICE, BOB] = [parseOwnerId('alice'), parseOwnerId('bob')];
const LEASE = 30_000;
const ANY: LeaseRequest = { milliseconds: LEASE, after: 0, oldest: 0 };

function stream(id: StreamId = ID): NewStream {
  const terms = {
    groupSize: 2,
    growTo: 4,
    concurrency: 8,
    batch: 1,
    maxStaleness: 1,
    advantages: 'grpo',
    ddof: 1,
    keepFiltered: false,
    maskTruncated: false,
  } as const;
  return { id, principal: 'pipeline', policy: 'org/model', terms, order: { suite: 'ü' } };
}

function result(reward: number, oldest: number | null = null): MemberResult {
  return { core: reward, reward, isMasked: false, oldest, newest: oldest };
}

function head(number: number, oldest = 0): GroupHead {
  const versions = { oldest: null, newest: 3 };
  return {
    number,
    task: 'org/task',
    taskDigest: 'sha256:1',
    taskSeed: 7,
    advantages: [0.5, null],
    size: 1,
    mean: 0.1 + 0.2,
    oldest,
    versions,
  };
}

/** A stream with groups that are ready. */
async function ready(rollouts: RolloutStreams, oldest: readonly number[]): Promise<StreamHold> {
  await rollouts.create(stream());
  const hold = await held(rollouts);
  for (const [number, age] of oldest.entries()) {
    await rollouts.begin(hold, { number, begun: 0, wanted: 2 });
    await rollouts.keepMember(hold, number, 1, result(0), undefined);
    await rollouts.keepMember(hold, number, 0, result(1), `{"rep": 0,  "group":${number}}`);
    await rollouts.accept(hold, head(number, age));
  }
  return hold;
}

async function held(rollouts: RolloutStreams, holder = ALICE): Promise<StreamHold> {
  const hold = await rollouts.hold(ID, holder, LEASE);
  if (!hold) throw new Error(`${ID} could not be held`);
  return hold;
}

const cases: Readonly<Record<string, (subject: RolloutStreamsSubject) => Promise<void>>> = {
  async 'a group comes with its trajectories, byte for byte, and once acknowledged it never comes again'({ open }) {
    await using store = await open();
    const { rollouts } = store;
    await ready(rollouts, [0, 0]);
    const first = await rollouts.lease(ID, ANY);
    expect(first).toEqual({ number: 0, cursor: 1, lease: 1, head: head(0), trajectories: ['{"rep": 0,  "group":0}', undefined] });
    expect(await rollouts.lease(ID, ANY)).toMatchObject({ number: 1, cursor: 2, lease: 1 });
    expect(await rollouts.lease(ID, ANY)).toBeUndefined();
    expect(await rollouts.acknowledge(ID, 0, 1)).toBe('acknowledged');
    expect(await rollouts.acknowledge(ID, 0, 1)).toBe('repeated');
    expect((await rollouts.find(ID))?.counts).toEqual({ begun: 2, ready: 1, acknowledged: 1, filtered: 0, stale: 0, trajectories: 4 });
  },

  async 'a group that is leased and not acknowledged comes again, and the earlier lease is worth nothing'({ open, clock }) {
    await using store = await open();
    const { rollouts } = store;
    await ready(rollouts, [0]);
    await rollouts.lease(ID, ANY);
    await clock.advance(LEASE);
    expect(await rollouts.lease(ID, { ...ANY, after: 1 })).toBeUndefined();
    expect(await rollouts.lease(ID, ANY)).toMatchObject({ number: 0, cursor: 1, lease: 2 });
    expect(await rollouts.acknowledge(ID, 0, 1)).toBe('late');
    for (const [number, lease] of [
      [0, 3],
      [0, 0],
      [7, 1],
    ] as const)
      expect(await rollouts.acknowledge(ID, number, lease)).toBe('unknown');
    await clock.advance(LEASE);
    // No other has got it: what was trained on counts.
    expect(await rollouts.acknowledge(ID, 0, 2)).toBe('acknowledged');
    expect(await rollouts.acknowledge(ID, 0, 1)).toBe('late');
  },

  async 'what was begun and not settled is found again with its members, also when the store is opened again'({ open }) {
    await (async () => {
      await using store = await open();
      expect(await store.rollouts.create(stream())).toMatchObject({ ...stream(), state: 'running', reportedBefore: 0 });
      const hold = await held(store.rollouts);
      await store.rollouts.begin(hold, { number: 0, begun: 0, wanted: 2 });
      await store.rollouts.begin(hold, { number: 1, begun: 1, wanted: 2 });
      await store.rollouts.keepMember(hold, 1, 1, result(0.5, 3), '{}');
      await store.rollouts.grow(hold, 1, 4);
      await store.rollouts.note(hold, 'the server is gone');
    })();
    await using store = await open();
    expect(await store.rollouts.listUnsettled(ID)).toEqual([
      { number: 0, begun: 0, wanted: 2, ended: new Map() },
      { number: 1, begun: 1, wanted: 4, ended: new Map([[1, result(0.5, 3)]]) },
    ]);
    expect(await store.rollouts.listRunning(5)).toMatchObject([{ ...stream(), problem: 'the server is gone' }]);
    expect(await store.rollouts.countConcurrency('pipeline')).toBe(8);
  },

  async 'what became of the latest groups is seen without leasing any'({ open, clock }) {
    await using store = await open();
    const { rollouts } = store;
    const hold = await ready(rollouts, [0, 0, 0]);
    await rollouts.begin(hold, { number: 3, begun: 1, wanted: 2 });
    await rollouts.keepMember(hold, 3, 1, result(0.5, 3), '{}');
    await rollouts.begin(hold, { number: 4, begun: 1, wanted: 2 });
    await rollouts.discard(hold, 4, 'filtered');
    await rollouts.lease(ID, ANY);
    await rollouts.acknowledge(ID, 0, 1);
    await rollouts.lease(ID, ANY);
    const leasedUntil = new Date(clock.date().getTime() + LEASE);
    const [both, none] = [
      new Map([
        [0, result(1)],
        [1, result(0)],
      ]),
      new Map(),
    ];
    const group = { wanted: 2, begun: 0, ended: none, head: undefined, lease: 0, leasedUntil: undefined } as const;
    expect(await rollouts.listRecent(ID, 4)).toEqual([
      { ...group, number: 4, state: 'filtered', begun: 1 },
      { ...group, number: 3, state: 'running', begun: 1, ended: new Map([[1, result(0.5, 3)]]) },
      { ...group, number: 2, state: 'ready', ended: both, head: head(2) },
      { ...group, number: 1, state: 'ready', ended: both, head: head(1), lease: 1, leasedUntil },
    ]);
    await clock.advance(LEASE);
    expect((await rollouts.listRecent(ID, 5)).slice(3)).toEqual([
      { ...group, number: 1, state: 'ready', ended: both, head: head(1), lease: 1 },
      { ...group, number: 0, state: 'acknowledged', head: head(0), lease: 1 },
    ]);
  },

  async 'one holder at a time plays a stream, and one that has lost it changes nothing'({ open, clock }) {
    await using store = await open();
    const { rollouts } = store;
    await rollouts.create(stream());
    const stale = await held(rollouts);
    expect(await rollouts.hold(ID, BOB, LEASE)).toBeUndefined();
    expect(await rollouts.hold(ID, ALICE, LEASE)).toEqual(stale);
    await clock.advance(LEASE);
    const hold = await held(rollouts, BOB);
    await rollouts.begin(hold, { number: 0, begun: 0, wanted: 2 });
    for (const write of [
      () => rollouts.begin(stale, { number: 1, begun: 0, wanted: 2 }),
      () => rollouts.keepMember(stale, 0, 0, result(1), '{}'),
      () => rollouts.accept(stale, head(0)),
      () => rollouts.discard(stale, 0, 'filtered'),
    ])
      await expect(write()).rejects.toBeInstanceOf(StreamLostError);
    await rollouts.release(stale);
    expect(await rollouts.hold(ID, ALICE, LEASE)).toBeUndefined();
    await rollouts.release(hold);
    expect(await rollouts.hold(ID, ALICE, LEASE)).toBeDefined();
    expect(await rollouts.listUnsettled(ID)).toHaveLength(1);
  },

  async 'groups that are too old or without a signal are discarded and counted, and a leased one stays its trainer’s'({ open }) {
    await using store = await open();
    const { rollouts } = store;
    const hold = await ready(rollouts, [0, 0, 1]);
    await rollouts.begin(hold, { number: 3, begun: 0, wanted: 2 });
    await rollouts.discard(hold, 3, 'filtered');
    await expect(rollouts.discard(hold, 3, 'filtered')).rejects.toBeInstanceOf(StreamLostError);
    const leased = await rollouts.lease(ID, ANY);
    expect(await rollouts.discardOld(hold, 1)).toBe(1);
    expect((await rollouts.find(ID))?.counts).toMatchObject({ begun: 4, ready: 2, filtered: 1, stale: 1 });
    expect(await rollouts.acknowledge(ID, leased?.number ?? -1, 1)).toBe('acknowledged');
    expect(await rollouts.lease(ID, { ...ANY, oldest: 2 })).toBeUndefined();
    expect(await rollouts.lease(ID, { ...ANY, oldest: 1 })).toMatchObject({ number: 2 });
  },

  async 'a stream ends once, and is forgotten when that is long ago'({ open, clock }) {
    await using store = await open();
    const { rollouts } = store;
    const hold = await ready(rollouts, [0]);
    await rollouts.end(ID, 'failed', 'the task is broken');
    await rollouts.end(ID, 'cancelled', undefined);
    expect(await rollouts.find(ID)).toMatchObject({ state: 'failed', problem: 'the task is broken', endedAt: clock.date() });
    await expect(rollouts.begin(hold, { number: 1, begun: 0, wanted: 2 })).rejects.toBeInstanceOf(StreamLostError);
    expect(await rollouts.hold(ID, ALICE, LEASE)).toBeUndefined();
    expect([await rollouts.listRunning(5), await rollouts.countConcurrency('pipeline')]).toEqual([[], 0]);
    expect(await rollouts.lease(ID, ANY)).toBeDefined();
    await rollouts.forgetOld(1, 10);
    expect(await rollouts.list('pipeline', 5)).toHaveLength(1);
    await clock.advance(1);
    await rollouts.forgetOld(1, 10);
    expect(await rollouts.find(ID)).toBeUndefined();
    expect(await rollouts.lease(ID, ANY)).toBeUndefined();
  },

  async 'a stream is ended when no trainer has asked for its groups for long, and not while one does'({ open, clock }) {
    await using store = await open();
    const { rollouts } = store;
    const other = parseStreamId('ro-b');
    for (const id of [ID, other]) await rollouts.create(stream(id));
    await clock.advance(10);
    await rollouts.noteAsked(other);
    await clock.advance(9);
    await rollouts.endAbandoned(20, 'no trainer asks');
    expect((await rollouts.listRunning(5)).map(({ id }) => id)).toEqual([ID, other]);
    await clock.advance(1);
    await rollouts.endAbandoned(20, 'no trainer asks');
    expect((await rollouts.listRunning(5)).map(({ id }) => id)).toEqual([other]);
    expect(await rollouts.find(ID)).toMatchObject({ state: 'cancelled', problem: 'no trainer asks' });
  },

  async 'turns of an episode are kept until it has ended, the first answer to each request, and nothing of other episodes is touched'({
    open,
    clock,
  }) {
    const first = await open();
    const hold = await ready(first.rollouts, []);
    await first.rollouts.begin(hold, { number: 1, begun: 0, wanted: 2 });
    await first.rollouts.begin(hold, { number: 10, begun: 0, wanted: 2 });
    const names = ['ro-a.1-0', 'ro-a.1-1', 'ro-a.10-0', 'ro-a.10-1', 'ro-a-b.1-0', 'p sha256:1 0'];
    for (const name of names) await first.turns.add(name, turn('a', 3));
    await first.turns.add('ro-a.1-0', turn('b'));
    await first.turns.add('ro-a.1-0', turn('a', 4));
    await first[Symbol.asyncDispose]();
    await using store = await open();
    const { rollouts, turns } = store;
    const left = async (): Promise<readonly number[]> => Array.fromAsync(names, async (name) => (await turns.read(name)).length);
    expect([...(await turns.read('ro-a.1-0'))].sort((one, other) => one.request.localeCompare(other.request))).toEqual([
      turn('a', 3),
      turn('b'),
    ]);
    await rollouts.keepMember(hold, 1, 0, result(1), '{}');
    expect(await left()).toEqual([0, 1, 1, 1, 1, 1]);
    await rollouts.discard(hold, 1, 'stale');
    expect(await left()).toEqual([0, 0, 1, 1, 1, 1]);
    await turns.forget('ro-a.10-1');
    expect(await left()).toEqual([0, 0, 1, 0, 1, 1]);
    await rollouts.end(ID, 'cancelled', undefined);
    expect(await left()).toEqual([0, 0, 0, 0, 1, 1]);
    await clock.advance(1);
    await turns.add('ro-a.10-0', turn('late'));
    await turns.forgetOld(1);
    expect(await left()).toEqual([0, 0, 1, 0, 0, 0]);
  },

  async 'versions of a policy grow, are its principal’s, and a stream knows how many came before it'({ open }) {
    await using store = await open();
    const { rollouts } = store;
    expect(await rollouts.reportVersion('pipeline', 'org/model', 10, undefined)).toEqual({ ordinal: 1, version: 10, endpoint: undefined });
    expect(await rollouts.reportVersion('pipeline', 'org/model', 9, undefined)).toBeUndefined();
    expect(await rollouts.reportVersion('pipeline', 'org/model', 10, 'elsewhere')).toEqual({
      ordinal: 1,
      version: 10,
      endpoint: undefined,
    });
    expect(await rollouts.reportVersion('pipeline', 'org/model', 20, 'elsewhere')).toEqual({
      ordinal: 2,
      version: 20,
      endpoint: 'elsewhere',
    });
    expect(await rollouts.reportVersion('other', 'org/model', 0, undefined)).toMatchObject({ ordinal: 1 });
    expect((await rollouts.listReported('pipeline', 'org/model', 1)).map(({ version }) => version)).toEqual([20]);
    expect((await rollouts.create(stream())).reportedBefore).toBe(2);
  },
};

/** What a model has answered to a request. */
function turn(request: string, version?: number): StoredTurn {
  const tokens = { promptIds: [1, 2], completionIds: [3], logprobs: [-0.5], version };
  const usage = { promptTokens: 2, completionTokens: 1, cachedTokens: 0 };
  const calls = [{ id: 'c', name: 'run', arguments: '{"command": "ü"}' }];
  const said = { content: request, reasoning: null, toolCalls: calls, finishReason: 'stop', usage, model: 'm' };
  return { request, answer: { kind: 'message', ...said, tokens: version === undefined ? undefined : tokens } };
}

export function rolloutStreamsContract(name: string, makeSubject: () => Promise<RolloutStreamsSubject>): void {
  describe(`streams of rollouts: ${name}`, () => {
    it.each(Object.entries(cases))('%s', async (_, run) => {
      await using subject = await makeSubject();
      await run(subject);
      expect(subject.clock.pending).toBe(0);
    });
  });
}
