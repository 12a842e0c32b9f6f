import type { AnswerCache, GivenAnswer, Question, RepeatedAnswer } from '../../../src/evaluation-store/answer-cache.ts';
import type {
  Acceptance,
  EarlierAcceptance,
  EvaluationCatalogue,
  EvaluationFilter,
  Idempotency,
} from '../../../src/evaluation-store/evaluation-catalogue.ts';
import type { NewEvaluation, StoredEvaluation } from '../../../src/evaluation-store/evaluation-record.ts';
import { formatCutPage, parseCursor, type Page, type PageRequest } from '../../../src/evaluation-store/paging.ts';
import type { EvaluationId } from '../../../src/kernel/ids.ts';
import { copyOf, isOpen, type Held } from './memory.ts';
import { InMemoryPart } from './in-memory-part.ts';

export class InMemoryCatalogue extends InMemoryPart implements EvaluationCatalogue, AnswerCache {
  async accept(evaluation: NewEvaluation, idempotency?: Idempotency): Promise<Acceptance> {
    const earlier = idempotency && this.#earlier(evaluation.principal, idempotency);
    return earlier ?? { kind: 'accepted', evaluation: this.#accepted(evaluation, idempotency).evaluation };
  }

  async findAnswer(question: Question): Promise<GivenAnswer | undefined> {
    const id = this.memory.answers.get(question);
    const held = id && this.memory.evaluations.get(id);
    return held && { key: held.key, summary: held.evaluation.summary };
  }

  async repeat(
    evaluation: NewEvaluation,
    { given, summary, webhooks }: RepeatedAnswer,
    idempotency?: Idempotency,
  ): Promise<Acceptance | undefined> {
    const earlier = idempotency && this.#earlier(evaluation.principal, idempotency);
    if (earlier) return earlier;
    const other = this.memory.evaluations.values().find(({ key }) => key === given.key);
    if (!other) return undefined;
    const held = this.#accepted(evaluation, idempotency);
    const now = new Date(this.memory.now);
    this.memory.enter(held, 'running', { startedAt: now });
    this.memory.enter(held, 'finished', { endedAt: now, summary: copyOf(summary), running: other.evaluation.running });
    for (const [arm, leg] of other.legs) held.legs.set(arm, new Map(leg));
    this.memory.announce(held, webhooks);
    return { kind: 'accepted', evaluation: held.evaluation };
  }

  async findEarlier(principal: string, idempotency: Idempotency): Promise<EarlierAcceptance | undefined> {
    return this.#earlier(principal, idempotency);
  }

  #earlier(principal: string, idempotency: Idempotency): EarlierAcceptance | undefined {
    const earlier = this.memory.idempotency.get(idempotencyKey(principal, idempotency));
    const known = earlier && this.memory.evaluations.get(earlier.id);
    return known && { kind: earlier.fingerprint === idempotency.fingerprint ? 'repeated' : 'conflict', evaluation: known.evaluation };
  }

  async find(id: EvaluationId): Promise<StoredEvaluation | undefined> {
    return this.memory.evaluations.get(id)?.evaluation;
  }

  async findOver(ids: readonly EvaluationId[]): Promise<readonly EvaluationId[]> {
    return ids.filter((id) => {
      const held = this.memory.evaluations.get(id);
      return !held || !isOpen(held);
    });
  }

  async list(filter: EvaluationFilter, { limit, after }: PageRequest): Promise<Page<StoredEvaluation>> {
    const position = after === undefined ? undefined : parseCursor(after);
    const isBeyond = ({ createdAt, id }: StoredEvaluation): boolean =>
      !position || createdAt.getTime() < position.milliseconds || (createdAt.getTime() === position.milliseconds && id < position.id);
    const found = [...this.memory.evaluations.values()]
      .map(({ evaluation }) => evaluation)
      .filter((one) => fits(one, filter) && isBeyond(one));
    found.sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1));
    return formatCutPage(found, limit, ({ createdAt, id }) => ({ milliseconds: createdAt.getTime(), id }));
  }

  async requestCancel(id: EvaluationId): Promise<StoredEvaluation | undefined> {
    const held = this.memory.evaluations.get(id);
    if (held && isOpen(held)) {
      const cancelRequestedAt = held.evaluation.cancelRequestedAt ?? new Date(this.memory.now);
      held.evaluation = { ...held.evaluation, cancelRequestedAt };
    }
    return held?.evaluation;
  }

  async forgetEnded(before: Date, limit: number): Promise<number> {
    const ended = [...this.memory.evaluations.values()].flatMap(({ evaluation: { id, endedAt } }) =>
      endedAt && endedAt < before ? [{ id, endedAt: endedAt.getTime() }] : [],
    );
    const oldest = ended.sort((a, b) => a.endedAt - b.endedAt).slice(0, limit);
    for (const { id } of oldest) {
      this.memory.evaluations.delete(id);
      for (const [number, { delivery }] of this.memory.webhooks) if (delivery.evaluation === id) this.memory.webhooks.delete(number);
    }
    return oldest.length;
  }

  #accepted(evaluation: NewEvaluation, idempotency: Idempotency | undefined): Held {
    const held = this.#newlyHeld(evaluation);
    this.memory.evaluations.set(evaluation.id, held);
    if (idempotency) {
      const key = idempotencyKey(evaluation.principal, idempotency);
      this.memory.idempotency.set(key, { fingerprint: idempotency.fingerprint, id: evaluation.id });
    }
    this.memory.enter(held, 'waiting', {});
    return held;
  }

  #newlyHeld(wanted: NewEvaluation): Held {
    const evaluation: StoredEvaluation = {
      ...wanted,
      request: copyOf(wanted.request),
      run: wanted.run,
      version: wanted.version,
      state: 'waiting',
      createdAt: new Date(this.memory.now),
      startedAt: undefined,
      endedAt: undefined,
      cancelRequestedAt: undefined,
      running: undefined,
      summary: undefined,
      failure: undefined,
    };
    return {
      key: this.memory.nextNumber(),
      evaluation,
      events: [],
      legs: new Map(),
      donates: new Map(),
      played: [],
      ownership: undefined,
    };
  }
}

function fits(evaluation: StoredEvaluation, { principal, suite, run, states, label, from, before }: EvaluationFilter): boolean {
  return (
    (principal === undefined || evaluation.principal === principal) &&
    (suite === undefined || evaluation.suite === suite) &&
    (run === undefined || evaluation.run === run) &&
    (states === undefined || states.includes(evaluation.state)) &&
    (label === undefined || evaluation.labels[label.name] === label.value) &&
    (from === undefined || evaluation.createdAt >= from) &&
    (before === undefined || evaluation.createdAt < before)
  );
}

function idempotencyKey(principal: string, { key }: Idempotency): string {
  return JSON.stringify([principal, key]);
}
