import { expect } from 'vitest';
import type { GivenAnswer } from '../../../src/evaluation-store/answer-cache.ts';
import type { EvaluationStore } from '../../../src/evaluation-store/evaluation-store.ts';
import type { Ownership } from '../../../src/evaluation-store/ownership.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import { accepted, asked, BOB, claimed, completed, completedRange, LEG, newId, running, toldRange } from '../../support/store-fixture.ts';
import type { Case } from '../evaluation-store.ts';

const QUESTION = digestBytes('question');
const SUMMARY = { official: { mean: 0.5, histogram: [1, 2] }, run: { outcomes: 10 } };

export const repeatedAnswers: Readonly<Record<string, Case>> = {
  async 'an answer is known by its question, and the last one counts'({ open }) {
    await using store = await open();
    expect(await store.answers.findAnswer(QUESTION)).toBeUndefined();
    const first = await answered(store);
    expect(await store.answers.findAnswer(QUESTION)).toEqual({ key: first.key, summary: SUMMARY });
    const second = await answered(store, { ...SUMMARY, later: true });
    expect(await store.answers.findAnswer(QUESTION)).toEqual({ key: second.key, summary: { ...SUMMARY, later: true } });
    expect(await store.answers.findAnswer(digestBytes('another'))).toBeUndefined();
  },

  async 'an answer of another principal is not known'({ open }) {
    await using store = await open();
    await store.course.conclude(await running(store), { state: 'finished', summary: SUMMARY, webhooks: [] });
    expect(await store.answers.findAnswer(QUESTION)).toBeUndefined();
  },

  async 'an evaluation that is answered at once has begun, is finished, and has its episodes'({ open, clock }) {
    await using store = await open();
    const other = await running(store);
    const log = completed(3, { log: 'printed', usage: { cpuSeconds: 1.5 } });
    await store.episodes.append(other, LEG, [...completedRange(0, 3), log]);
    await store.episodes.append(other, { ...LEG, arm: 2 }, completedRange(0, 5));
    const report = { running: { mean: 0.5 }, events: [] };
    await store.course.conclude(other, { state: 'finished', report, summary: SUMMARY, question: QUESTION, webhooks: [] });
    await clock.advance(1000);
    const wanted = asked({ labels: { branch: 'main' }, run: 'r7', version: 3 });
    const acceptance = await store.answers.repeat(wanted, { given: await given(store), summary: { again: 1.5 }, webhooks: [] });
    const now = clock.date();
    const evaluation = {
      ...wanted,
      state: 'finished',
      createdAt: now,
      startedAt: now,
      endedAt: now,
      cancelRequestedAt: undefined,
      running: { mean: 0.5 },
      summary: { again: 1.5 },
      failure: undefined,
    };
    expect(acceptance).toEqual({ kind: 'accepted', evaluation });
    expect(await store.evaluations.find(wanted.id)).toEqual(evaluation);
    expect(await store.episodes.page(wanted.id, 0, 0, 10)).toEqual([...completedRange(0, 3), log]);
    expect(await store.episodes.page(wanted.id, 1, 0, 10)).toEqual([]);
    expect(await store.episodes.page(wanted.id, 2, 0, 10)).toEqual(completedRange(0, 5));
    const events = await store.events.readAfter(wanted.id, 0, 10);
    expect(events).toEqual(
      ['waiting', 'running', 'finished'].map((state, at) => ({ sequence: at + 1, type: 'state', data: { state }, at: now })),
    );
    const { items } = await store.evaluations.list({ label: { name: 'branch', value: 'main' } }, { limit: 5 });
    expect(items.map(({ id }) => id)).toEqual([wanted.id]);
  },

  async 'it is not played, does not wait, and costs nothing'({ open, clock }) {
    await using store = await open();
    await answered(store);
    const wanted = asked({ principal: 'researcher' });
    await store.answers.repeat(wanted, { given: await given(store), summary: SUMMARY, webhooks: [] });
    expect(await store.ownerships.listClaimable(10)).toEqual([]);
    expect(await store.ownerships.claim(wanted.id, BOB, 1000)).toBeUndefined();
    expect(await store.usage.countWaiting('researcher')).toBe(0);
    expect(await store.usage.countEpisodesSince('researcher', clock.date())).toBe(0);
  },

  async 'its webhook receives the event'({ open }) {
    await using store = await open();
    await answered(store);
    const wanted = asked();
    const webhooks = [{ url: 'https://example.com/hook', body: { state: 'finished' } }];
    await store.answers.repeat(wanted, { given: await given(store), summary: SUMMARY, webhooks });
    expect(await store.webhooks.take(10, 1000)).toMatchObject([{ evaluation: wanted.id, url: 'https://example.com/hook', attempt: 1 }]);
  },

  async 'sent again with its key it is the same evaluation, and with another body it is refused'({ open }) {
    await using store = await open();
    await answered(store);
    const answer = { given: await given(store), summary: SUMMARY, webhooks: [] };
    const idempotency = { key: 'once', fingerprint: digestBytes('body') };
    const first = await store.answers.repeat(asked(), answer, idempotency);
    expect(first).toMatchObject({ kind: 'accepted' });
    expect(await store.answers.repeat(asked(), answer, idempotency)).toEqual({ ...first, kind: 'repeated' });
    expect(await store.answers.repeat(asked(), answer, { ...idempotency, fingerprint: digestBytes('other') })).toEqual({
      ...first,
      kind: 'conflict',
    });
    expect(await store.evaluations.accept(asked(), idempotency)).toEqual({ ...first, kind: 'repeated' });
    expect((await store.evaluations.list({}, { limit: 10 })).items).toHaveLength(2);
  },

  async 'when the other has been forgotten meanwhile nothing is accepted, and the key is free'({ open, clock }) {
    await using store = await open();
    await answered(store);
    const known = await given(store);
    await clock.advance(1);
    await store.evaluations.forgetEnded(clock.date(), 10);
    expect(await store.answers.findAnswer(QUESTION)).toBeUndefined();
    const wanted = asked({ labels: { branch: 'main' } });
    const idempotency = { key: 'once', fingerprint: digestBytes('body') };
    expect(await store.answers.repeat(wanted, { given: known, summary: SUMMARY, webhooks: [] }, idempotency)).toBeUndefined();
    expect(await store.evaluations.find(wanted.id)).toBeUndefined();
    expect((await store.evaluations.accept(wanted, idempotency)).kind).toBe('accepted');
  },

  async 'what was copied stays when the other is forgotten'({ open, clock }) {
    await using store = await open();
    const other = await answered(store, SUMMARY, 50);
    const transcript = await store.episodes.readTranscript(other.evaluation, 0, 7);
    expect(transcript).toBeTypeOf('string');
    await clock.advance(1000);
    const wanted = asked();
    await store.answers.repeat(wanted, { given: await given(store), summary: SUMMARY, webhooks: [] });
    expect(await store.evaluations.forgetEnded(clock.date(), 10)).toBe(1);
    expect(await store.evaluations.find(other.evaluation)).toBeUndefined();
    expect(await store.episodes.page(wanted.id, 0, 0, 100)).toEqual(completedRange(0, 50));
    expect(await store.episodes.readTranscript(wanted.id, 0, 7)).toBe(transcript);
    expect(await store.episodes.readTranscript(other.evaluation, 0, 7)).toBeUndefined();
  },

  async 'of many concurrent answers, some of them forgotten, each is complete or missing'({ open, clock }) {
    await using store = await open();
    await answered(store, SUMMARY, 50);
    const known = await given(store);
    await clock.advance(1);
    const wanted = Array.from({ length: 20 }, () => newId());
    const repeating = wanted.map((id) => store.answers.repeat(asked({ id }), { given: known, summary: SUMMARY, webhooks: [] }));
    const forgetting = store.evaluations.forgetEnded(clock.date(), 1);
    const acceptances = await Promise.all(repeating);
    expect(await forgetting).toBe(1);
    for (const [at, acceptance] of acceptances.entries()) {
      const stored = await store.episodes.page(wanted[at] ?? newId(), 0, 0, 100);
      expect(stored).toHaveLength(acceptance === undefined ? 0 : 50);
    }
  },

  async 'the answer is known when the store is opened again'({ open }) {
    const { key } = await (async () => {
      await using store = await open();
      return await answered(store);
    })();
    await using store = await open();
    expect(await store.answers.findAnswer(QUESTION)).toEqual({ key, summary: SUMMARY });
  },
};

/** An evaluation that is over, with so many episodes. */
async function answered(store: EvaluationStore, summary: object = SUMMARY, episodes = 10): Promise<Ownership> {
  const ownership = await claimed(store, (await accepted(store)).id);
  await store.course.begin(ownership);
  await store.episodes.append(ownership, LEG, toldRange(0, episodes));
  await store.course.conclude(ownership, { state: 'finished', summary, question: QUESTION, webhooks: [] });
  return ownership;
}

async function given(store: EvaluationStore): Promise<GivenAnswer> {
  const answer = await store.answers.findAnswer(QUESTION);
  if (!answer) throw new Error('no evaluation has been answered');
  return answer;
}
