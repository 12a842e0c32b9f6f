import { describe, expect, it } from 'vitest';
import { parseAgentEpisodeId, type AgentEpisodeId } from '../../src/agents/arena/episode-ids.ts';
import { NOTHING_SPENT } from '../../src/agents/arena/episode-state.ts';
import { DEFAULT_TERMS } from '../../src/agents/tasks/arena-rules.ts';
import { HoldLostError, type Hold, type NewAgentEpisode, type NewStep, type Trajectories } from '../../src/agents/arena/trajectories.ts';
import { readSteps } from '../../src/agents/arena/shared-steps.ts';
import { parseTaskDigest, parseTaskId } from '../../src/agents/tasks/task-ids.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { parseOwnerId } from '../../src/kernel/ids.ts';
import type { ManualClock } from '../support/manual-clock.ts';

/** An empty place of its own, that can be opened again. */
export interface TrajectoriesSubject extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly open: () => Promise<AsyncDisposable & { readonly trajectories: Trajectories }>;
}

const ALICE = parseOwnerId('alice');
const BOB = parseOwnerId('bob');
const TTL = 60_000;
const SPENT = { seconds: 1.25, bytesWritten: 3, output: 7 };
const ENDING = { outcome: 'rewarded', reward: 0.1 + 0.2, document: '{"reward": 0.30000000000000004}' } as const;

export function newEpisode(name: string, changes: Partial<NewAgentEpisode> = {}): NewAgentEpisode {
  return {
    id: parseAgentEpisodeId(`ep-${name}`),
    principal: 'pipeline',
    task: parseTaskId('org/task'),
    taskDigest: parseTaskDigest(digestBytes('task')),
    agent: 'agent ü',
    seed: 7,
    gradingSeed: 'secret',
    limits: { steps: 5, seconds: 60, bytesWritten: 1000, output: 1000, idleSeconds: 60 },
    actions: ['run', 'submit'],
    terms: DEFAULT_TERMS,
    gradesAbandoned: false,
    origin: undefined,
    ...changes,
  };
}

export function newStep(number: number, changes: Partial<NewStep> = {}): NewStep {
  const delta = { changed: [{ kind: 'directory' as const, path: '/app/x' }], removed: ['/app/y'] };
  const answer = `{"step": ${number},  "text":"\\u0000 ü"}`;
  return {
    number,
    digest: `digest ${number}`,
    action: { action: 'run', command: '\0' },
    answer,
    delta,
    spent: SPENT,
    endedBy: undefined,
    ...changes,
  };
}

export async function holdNew(trajectories: Trajectories, id: AgentEpisodeId): Promise<Hold> {
  const hold = await trajectories.hold(id, ALICE, TTL);
  if (!hold) throw new Error(`${id} could not be held`);
  return hold;
}

type Case = (subject: TrajectoriesSubject) => Promise<void>;

const cases: Readonly<Record<string, Case>> = {
  async 'an episode and its steps are found as they were stored, also when the store is opened again'({ open, clock }) {
    const id = parseAgentEpisodeId('ep-a');
    await (async () => {
      await using store = await open();
      const made = await store.trajectories.create(newEpisode('a'));
      expect(made).toMatchObject({ ...newEpisode('a'), steps: 0, spent: NOTHING_SPENT, endedBy: undefined, closed: undefined });
      const hold = await holdNew(store.trajectories, id);
      await clock.advance(1000);
      await store.trajectories.append(hold, newStep(1));
      await store.trajectories.append(hold, newStep(2, { delta: undefined, endedBy: 'submit' }));
    })();
    await using store = await open();
    expect(await store.trajectories.find(id)).toMatchObject({
      ...newEpisode('a'),
      steps: 2,
      spent: SPENT,
      endedBy: 'submit',
      touchedAt: clock.date(),
    });
    const { spent: _, endedBy: __, ...first } = newStep(1);
    const steps = await store.trajectories.steps(id, 0, 10);
    expect(steps[0]).toEqual({ ...first, at: clock.date() });
    expect(steps.map(({ number, delta }) => [number, delta === undefined])).toEqual([
      [1, false],
      [2, true],
    ]);
    expect(await store.trajectories.steps(id, 1, 1)).toHaveLength(1);
    expect(await store.trajectories.find(parseAgentEpisodeId('ep-unknown'))).toBeUndefined();
  },

  async 'a fork begins with the steps that it shares, and its own come behind them'({ open }) {
    await using store = await open();
    const parent = await store.trajectories.create(newEpisode('a'));
    const hold = await holdNew(store.trajectories, parent.id);
    for (const number of [1, 2, 3]) await store.trajectories.append(hold, newStep(number));
    const origin = { lineage: [{ episode: parent.id, through: 2 }], spent: SPENT };
    const fork = await store.trajectories.create(newEpisode('fork', { origin }));
    expect(fork).toMatchObject({ steps: 2, spent: SPENT, origin });
    expect(await store.trajectories.find(fork.id)).toEqual(fork);
    const forkHold = await holdNew(store.trajectories, fork.id);
    await expect(store.trajectories.append(forkHold, newStep(1))).rejects.toBeInstanceOf(HoldLostError);
    await store.trajectories.append(forkHold, newStep(3, { answer: 'of the fork' }));
    const answers = async (after: number, limit: number): Promise<readonly (number | string)[]> =>
      (await readSteps(store.trajectories, fork, after, limit)).flatMap(({ number, answer }) => [number, answer]);
    expect(await answers(0, 10)).toEqual([1, newStep(1).answer, 2, newStep(2).answer, 3, 'of the fork']);
    expect(await answers(1, 1)).toEqual([2, newStep(2).answer]);
    expect(await answers(2, 9)).toEqual([3, 'of the fork']);
    expect((await store.trajectories.steps(parent.id, 2, 9)).map(({ answer }) => answer)).toEqual([newStep(3).answer]);
  },

  async 'a tree of forks is forgotten once all of it was closed long enough ago'({ open, clock }) {
    await using store = await open();
    const { trajectories } = store;
    const parent = await trajectories.create(newEpisode('a'));
    const hold = await holdNew(trajectories, parent.id);
    await trajectories.append(hold, newStep(1));
    const fork = await trajectories.create(newEpisode('fork', { origin: { lineage: [{ episode: parent.id, through: 1 }], spent: SPENT } }));
    await trajectories.create(newEpisode('open'));
    await trajectories.close(hold, 'submit', ENDING);
    await clock.advance(1000);
    expect(await trajectories.listClosedTrees(1, 10)).toEqual([]);
    await trajectories.forgetTree(parent.id, 1);
    expect(await trajectories.find(parent.id)).toBeDefined();
    await trajectories.close(await holdNew(trajectories, fork.id), 'submit', ENDING);
    expect(await trajectories.listClosedTrees(1, 10)).toEqual([]);
    await clock.advance(1);
    expect(await trajectories.listClosedTrees(1, 10)).toEqual([parent.id]);
    await trajectories.forgetTree(parent.id, 1);
    expect(await Promise.all([parent.id, fork.id].map((id) => trajectories.find(id)))).toEqual([undefined, undefined]);
    expect(await trajectories.steps(parent.id, 0, 10)).toEqual([]);
    expect((await trajectories.list({}, { limit: 10 })).items.map(({ id }) => id)).toEqual(['ep-open']);
  },

  async 'a step that is not the next, or comes behind the end, is not stored'({ open }) {
    await using store = await open();
    const { id } = await store.trajectories.create(newEpisode('a'));
    const hold = await holdNew(store.trajectories, id);
    await expect(store.trajectories.append(hold, newStep(2))).rejects.toBeInstanceOf(HoldLostError);
    await store.trajectories.append(hold, newStep(1));
    await expect(store.trajectories.append(hold, newStep(1, { answer: 'other' }))).rejects.toBeInstanceOf(HoldLostError);
    await store.trajectories.end(hold, 'submit');
    await expect(store.trajectories.append(hold, newStep(2))).rejects.toBeInstanceOf(HoldLostError);
    expect((await store.trajectories.steps(id, 0, 10)).map(({ answer }) => answer)).toEqual([newStep(1).answer]);
  },

  async 'of two holders at once one has the episode, and one that was replaced writes nothing more'({ open, clock }) {
    await using store = await open();
    const { id } = await store.trajectories.create(newEpisode('a'));
    const first = await holdNew(store.trajectories, id);
    expect(await store.trajectories.hold(id, BOB, TTL)).toBeUndefined();
    expect(await holdNew(store.trajectories, id)).toEqual(first);
    await clock.advance(TTL);
    const second = await store.trajectories.hold(id, BOB, TTL);
    expect(second?.fence).toBeGreaterThan(first.fence);
    await expect(store.trajectories.append(first, newStep(1))).rejects.toBeInstanceOf(HoldLostError);
    await expect(store.trajectories.end(first, 'submit')).rejects.toBeInstanceOf(HoldLostError);
    await expect(store.trajectories.close(first, 'submit', ENDING)).rejects.toBeInstanceOf(HoldLostError);
    expect(await store.trajectories.find(id)).toMatchObject({ steps: 0, endedBy: undefined, closed: undefined });
  },

  async 'an end is kept as the first one said it'({ open, clock }) {
    await using store = await open();
    const { id } = await store.trajectories.create(newEpisode('a'));
    const hold = await holdNew(store.trajectories, id);
    await store.trajectories.end(hold, 'steps');
    await store.trajectories.close(hold, 'submit', ENDING);
    await clock.advance(1);
    await store.trajectories.close(hold, 'lost', { outcome: 'void', reward: undefined, document: '{}' });
    const found = await store.trajectories.find(id);
    expect(found).toMatchObject({ endedBy: 'steps', closed: { ...ENDING, at: new Date(clock.date().getTime() - 1) } });
  },

  async 'episodes are listed latest first, by principal, task, agent and state'({ open, clock }) {
    await using store = await open();
    const { trajectories } = store;
    for (const name of ['a', 'b', 'c']) {
      await trajectories.create(
        newEpisode(name, {
          principal: name === 'c' ? 'other' : 'pipeline',
          agent: name,
          ...(name === 'b' ? { task: parseTaskId('second') } : {}),
        }),
      );
      await clock.advance(1);
    }
    const list = async (filter: Parameters<Trajectories['list']>[0]): Promise<readonly string[]> =>
      (await trajectories.list(filter, { limit: 10 })).items.map(({ id }) => id);
    expect(await list({})).toEqual(['ep-c', 'ep-b', 'ep-a']);
    expect(await list({ principal: 'pipeline', task: 'second' })).toEqual(['ep-b']);
    expect(await list({ agent: 'c' })).toEqual(['ep-c']);
    const page = await trajectories.list({}, { limit: 2 });
    expect((await trajectories.list({}, { limit: 2, after: page.next })).items.map(({ id }) => id)).toEqual(['ep-a']);
    expect(await trajectories.countOpen('pipeline')).toBe(2);
    const hold = await holdNew(trajectories, parseAgentEpisodeId('ep-a'));
    await trajectories.end(hold, 'submit');
    expect([await trajectories.countOpen('pipeline'), await list({ state: 'grading' }), await list({ state: 'open' })]).toEqual([
      1,
      ['ep-a'],
      ['ep-c', 'ep-b'],
    ]);
    await trajectories.close(hold, 'submit', ENDING);
    expect([await list({ leastReward: 0.3 }), await list({ leastReward: 0.31, task: 'org/task' })]).toEqual([['ep-a'], []]);
    expect([await list({ state: 'closed' }), (await trajectories.listUnclosed(10)).map(({ id }) => id)]).toEqual([
      ['ep-a'],
      ['ep-b', 'ep-c'],
    ]);
    await trajectories.end(await holdNew(trajectories, parseAgentEpisodeId('ep-c')), 'submit');
    expect((await trajectories.listUnclosed(1)).map(({ id }) => id)).toEqual(['ep-c']);
  },
};

/** Runs every case on a fresh subject. */
export function trajectoriesContract(name: string, makeSubject: () => Promise<TrajectoriesSubject>): void {
  describe(`${name} keeps the contract of trajectories`, () => {
    it.each(Object.entries(cases))('%s', async (_, run) => {
      await using subject = await makeSubject();
      await run(subject);
      expect(subject.clock.pending).toBe(0);
    });
  });
}
