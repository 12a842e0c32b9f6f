import type { Idempotency } from '../../src/evaluation-store/evaluation-catalogue.ts';
import type { NewEvaluation, StoredEvaluation } from '../../src/evaluation-store/evaluation-record.ts';
import type { EvaluationStore } from '../../src/evaluation-store/evaluation-store.ts';
import type { Leg, NewEpisode, StoredEpisode } from '../../src/evaluation-store/episode-log.ts';
import type { Ownership } from '../../src/evaluation-store/ownership.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { parseEpisodeIndex, parseEvaluationId, parseOwnerId, type EvaluationId, type OwnerId } from '../../src/kernel/ids.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';

export const ALICE = parseOwnerId('alice');
export const BOB = parseOwnerId('bob');
export const LEG: Leg = { arm: 0, cacheKey: undefined };
export const SHARED_LEG: Leg = { arm: 0, cacheKey: digestBytes('checkpoint, suite and template') };
/** Of an ownership. */
export const TTL = 30_000;

let made = 0;

/** An id that sorts after those that were made before. */
export function newId(): EvaluationId {
  made += 1;
  return parseEvaluationId(`ev-${String(made).padStart(6, '0')}`);
}

export function asked(changes: Partial<NewEvaluation> = {}): NewEvaluation {
  return { id: newId(), principal: 'pipeline', request: { suite: 'fixture' }, suite: 'fixture', labels: {}, priority: 0, ...changes };
}

export async function accepted(
  store: EvaluationStore,
  changes: Partial<NewEvaluation> = {},
  idempotency?: Idempotency,
): Promise<StoredEvaluation> {
  const { kind, evaluation } = await store.evaluations.accept(asked(changes), idempotency);
  if (kind !== 'accepted') throw new Error(`it was ${kind}`);
  return evaluation;
}

export async function claimed(store: EvaluationStore, evaluation: EvaluationId, owner: OwnerId = ALICE): Promise<Ownership> {
  const ownership = await store.ownerships.claim(evaluation, owner, TTL);
  if (!ownership) throw new Error(`${owner} could not claim ${evaluation}`);
  return ownership;
}

/** An evaluation that is being played. */
export async function running(store: EvaluationStore, changes: Partial<NewEvaluation> = {}): Promise<Ownership> {
  const { id } = await accepted(store, changes);
  const ownership = await claimed(store, id);
  await store.course.begin(ownership);
  return ownership;
}

export function completed(index: number, changes: Partial<StoredEpisode> = {}): StoredEpisode {
  const outcome: Outcome = { kind: 'completed', return: (index % 997) / 997, length: 200, metrics: {} };
  return { index: parseEpisodeIndex(index), task: 0, outcome, seconds: 0.25, ...changes };
}

export function completedRange(from: number, to: number): StoredEpisode[] {
  return Array.from({ length: to - from }, (_, i) => completed(from + i));
}

/** The same, each with a transcript. */
export function toldRange(from: number, to: number): NewEpisode[] {
  return Array.from({ length: to - from }, (_, i) => Object.assign(completed(from + i), { transcript: { of: from + i } }));
}
