import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { buildListQuery } from '../../src/adapters/arena/firestore/episode-queries.ts';
import { FirestoreTrajectories } from '../../src/adapters/arena/firestore/firestore-trajectories.ts';
import { HoldLostError } from '../../src/agents/arena/trajectories.ts';
import { createTrajectoriesCheck } from '../../src/app/doctor/store-checks.ts';
import { systemClock, type Clock } from '../../src/kernel/clock.ts';
import { parseOwnerId } from '../../src/kernel/ids.ts';
import { FaultyProxy, type Fault } from '../support/faulty-proxy.ts';
import { explainMissingFirestore, FirestoreEmulator } from '../support/firestore-emulator.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { holdNew, newEpisode, newStep, trajectoriesContract, type TrajectoriesSubject } from './trajectories.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const refuse = (code: number, status: string, message = status): Fault => ({
  kind: 'status',
  status: code,
  body: JSON.stringify({ error: { code, status, message } }),
});
const BUSY = [refuse(429, 'RESOURCE_EXHAUSTED'), refuse(503, 'UNAVAILABLE'), refuse(409, 'ABORTED', 'Too much contention')];
/** Draws the same number for every pause. */
const MIDDLE = (): number => 0.5;
/** It is done, and the connection breaks before the answer. */
const LOST: Fault = { kind: 'cut', after: 0 };
const PASS: Fault = { kind: 'none' };

function spoilNext(proxy: FaultyProxy, faults: readonly Fault[]): void {
  const left = [...faults];
  proxy.spoil(() => left.shift() ?? PASS);
}

describe.skipIf(explainMissingFirestore() !== undefined)('trajectories in Firestore', () => {
  let emulator: FirestoreEmulator;
  beforeAll(async () => {
    emulator = await FirestoreEmulator.start();
  });
  afterAll(() => emulator[Symbol.asyncDispose]());

  /** Each project of the emulator is a place of its own. */
  const newPlace = () => ({ project: `muster-${randomBytes(6).toString('hex')}`, database: '(default)', emulator: emulator.host });

  const makeSubject = async (): Promise<TrajectoriesSubject> => {
    const clock = new ManualClock();
    const place = newPlace();
    return {
      clock,
      open: async () => ({
        trajectories: await FirestoreTrajectories.open(place, clock, MIDDLE),
        [Symbol.asyncDispose]: async () => undefined,
      }),
      [Symbol.asyncDispose]: async () => undefined,
    };
  };

  trajectoriesContract('Firestore', makeSubject);

  it('a step longer than a document is kept in parts, which are forgotten with it', async () => {
    const clock = new ManualClock();
    const trajectories = await FirestoreTrajectories.open(newPlace(), clock, MIDDLE);
    const { id } = await trajectories.create(newEpisode('large'));
    const hold = await holdNew(trajectories, id);
    const action = { action: 'write_file', content: randomBytes(1_000_000).toString('base64') };
    await trajectories.append(hold, newStep(1, { action, answer: '"ü"'.repeat(100_000) }));
    await trajectories.append(hold, newStep(2));
    const [first, second] = await trajectories.steps(id, 0, 9);
    expect([first?.action, first?.answer.length, second?.number]).toEqual([action, 300_000, 2]);
    const answer = randomBytes(6_500_000).toString('base64');
    await expect(trajectories.append(hold, newStep(3, { answer }))).rejects.toMatchObject({ code: 'trajectories.too-large' });
    await trajectories.close(hold, 'submit', { outcome: 'rewarded', reward: 1, document: '{}' });
    await clock.advance(10);
    await trajectories.forgetTree(id, 1);
    expect([await trajectories.find(id), await trajectories.steps(id, 0, 9)]).toEqual([undefined, []]);
  });

  it('a temporary failure is retried, and a commit without an answer is not done twice', async () => {
    // Pauses are over at once; the deadlines of answers are the machine's.
    const clock: Clock = { ...systemClock, after: (delayMs, callback) => systemClock.after(delayMs < 10_000 ? 0 : delayMs, callback) };
    await using proxy = await FaultyProxy.before(`http://${emulator.host}`);
    const trajectories = await FirestoreTrajectories.open({ ...newPlace(), emulator: new URL(proxy.url).host }, clock, MIDDLE);
    const run = <Value>(faults: readonly Fault[], ask: () => Promise<Value>): Promise<Value> => {
      spoilNext(proxy, faults);
      return ask();
    };
    const { id } = await run([LOST], () => trajectories.create(newEpisode('busy')));
    const hold = await run(BUSY, () => trajectories.hold(id, parseOwnerId('alice'), 60_000));
    if (!hold) throw new Error('not held');
    for (const number of [1, 2]) await run([PASS, LOST, ...BUSY], () => trajectories.append(hold, newStep(number)));
    await run([PASS, LOST], () => trajectories.close(hold, 'submit', { outcome: 'rewarded', reward: 0.5, document: '{}' }));
    expect(await run([...BUSY, ...BUSY.slice(0, 2)], () => trajectories.find(id))).toMatchObject({ steps: 2, closed: { reward: 0.5 } });
    expect((await trajectories.steps(id, 0, 9)).map(({ number }) => number)).toEqual([1, 2]);
    await expect(run([...BUSY, ...BUSY], () => trajectories.find(id))).rejects.toMatchObject({ code: 'trajectories.failed' });
  });

  it('lets one of two writers append a step, and gives a hold to one', async () => {
    const place = newPlace();
    const one = await FirestoreTrajectories.open(place, systemClock, Math.random);
    const other = await FirestoreTrajectories.open(place, systemClock, Math.random);
    const { id } = await one.create(newEpisode('both'));
    const holds = await Promise.all([one, other].map((each, i) => each.hold(id, parseOwnerId(`holder-${i}`), 60_000)));
    const [hold, ...more] = holds.flatMap((each) => each ?? []);
    if (!hold || more.length > 0) throw new Error(`${holds.length} hold it`);
    const appended = await Promise.allSettled([one, other].map((each, i) => each.append(hold, newStep(1, { answer: `of ${i}` }))));
    expect(appended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(appended.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))[0]).toBeInstanceOf(HoldLostError);
    expect(await one.steps(id, 0, 9)).toHaveLength(1);
  });

  it('a database that refuses is named at the start, with the remedy', async () => {
    await using proxy = await FaultyProxy.before(`http://${emulator.host}`);
    const open = (fault: Fault): Promise<unknown> => {
      spoilNext(proxy, [fault]);
      return FirestoreTrajectories.open({ ...newPlace(), emulator: new URL(proxy.url).host }, new ManualClock(), MIDDLE);
    };
    const input = (message: string): object => ({ kind: 'input', code: 'arena.trajectories', message: expect.stringContaining(message) });
    await expect(open(refuse(403, 'PERMISSION_DENIED'))).rejects.toMatchObject(input('roles/datastore.user'));
    await expect(open(refuse(404, 'NOT_FOUND', 'The database (default) does not exist'))).rejects.toMatchObject(input('create it'));
    await expect(open(refuse(400, 'FAILED_PRECONDITION', 'The query requires an index'))).rejects.toMatchObject({
      code: 'trajectories.index',
      message: expect.stringContaining('deploy/firestore'),
    });
  });

  it('doctor reports whether Firestore can be used', async () => {
    const given = process.env['FIRESTORE_EMULATOR_HOST'];
    process.env['FIRESTORE_EMULATOR_HOST'] = emulator.host;
    try {
      const check = createTrajectoriesCheck('firestore://muster-doctor');
      expect(await check.run(new AbortController().signal)).toMatchObject({ status: 'ok', found: 'firestore://muster-doctor' });
    } finally {
      if (given === undefined) delete process.env['FIRESTORE_EMULATOR_HOST'];
      else process.env['FIRESTORE_EMULATOR_HOST'] = given;
    }
  });
});

const indexSchema = z.object({
  indexes: z.array(z.object({ fields: z.array(z.object({ fieldPath: z.string(), order: z.string() })) })),
});

it('deploy/firestore has an index for each filter of episodes, which Firestore merges', async () => {
  const file = path.join(import.meta.dirname, '../../deploy/firestore/firestore.indexes.json');
  const { indexes } = indexSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  const known = indexes.map(({ fields }) => fields.map(({ fieldPath }) => fieldPath).join(' '));
  const filter = { principal: 'p', task: 't', agent: 'a', state: 'closed', leastReward: 1 } as const;
  const { where, orderBy } = buildListQuery(filter, 10, undefined);
  const equal = where.filter(({ op }) => op === 'EQUAL').map(({ field }) => field);
  for (const behind of [orderBy, [...orderBy, 'reward']])
    expect(known).toEqual(expect.arrayContaining(equal.map((field) => [field, ...behind].join(' '))));
});
