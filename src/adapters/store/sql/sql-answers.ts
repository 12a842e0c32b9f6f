import type { AnswerCache, GivenAnswer, Question, RepeatedAnswer } from '../../../evaluation-store/answer-cache.ts';
import type { Acceptance, EvaluationCatalogue, Idempotency } from '../../../evaluation-store/evaluation-catalogue.ts';
import type { NewEvaluation } from '../../../evaluation-store/evaluation-record.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { planAcceptance, readAcceptedEvaluation, selectKey } from './acceptance.ts';
import { readDocument, readNumber } from './schema/columns.ts';
import { guard, toStep, type Database } from './schema/database.ts';
import { readEvaluationRow } from './evaluation-row.ts';
import { createStateEvent } from './sql-course.ts';
import { appendEvents } from './sql-events.ts';
import { planAnnouncement } from './sql-webhooks.ts';
import { toPlainSql, sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

export class SqlAnswers extends SqlAdapter implements AnswerCache {
  readonly #catalogue: Pick<EvaluationCatalogue, 'findEarlier'>;

  constructor(database: Database, clock: Clock, catalogue: Pick<EvaluationCatalogue, 'findEarlier'>) {
    super(database, clock);
    this.#catalogue = catalogue;
  }

  async findAnswer(question: Question): Promise<GivenAnswer | undefined> {
    const [row] = await this.database.query(
      sql`SELECT v.key, v.summary FROM answers a JOIN evaluations v ON v.key = a.evaluation WHERE a.question = ${question}`,
    );
    return row && { key: readNumber(row, 'key'), summary: readDocument(row, 'summary') };
  }

  async repeat(
    evaluation: NewEvaluation,
    { given, summary, webhooks }: RepeatedAnswer,
    idempotency?: Idempotency,
  ): Promise<Acceptance | undefined> {
    const now = this.clock.date().getTime();
    const key = selectKey(evaluation.id);
    const rows = await this.database.transact([
      ...planAcceptance(evaluation, idempotency, now),
      // While its row is locked, its episodes are not removed.
      guard(sql`SELECT 1 AS kept FROM evaluations WHERE key = ${given.key}${toPlainSql(this.database.dialect.shared)}`),
      toStep(
        sql`UPDATE evaluations SET state = 'finished', started_at = ${now}, ended_at = ${now}, summary = ${JSON.stringify(summary)},
              running = (SELECT given.running FROM evaluations AS given WHERE given.key = ${given.key})
            WHERE id = ${evaluation.id}`,
      ),
      ...appendEvents(key, [createStateEvent('running'), createStateEvent('finished')], now),
      toStep(
        sql`INSERT INTO episodes (evaluation, arm, episode, task, outcome, result, length, seconds, extra)
            SELECT ${key}, arm, episode, task, outcome, result, length, seconds, extra FROM episodes WHERE evaluation = ${given.key}`,
      ),
      toStep(
        sql`INSERT INTO transcripts (evaluation, arm, episode, document)
            SELECT ${key}, arm, episode, document FROM transcripts WHERE evaluation = ${given.key}`,
      ),
      ...planAnnouncement(key, webhooks, now),
      readAcceptedEvaluation(evaluation.id),
    ]);
    if (rows) return { kind: 'accepted', evaluation: readEvaluationRow(rows.at(-1)?.[0] ?? {}) };
    return idempotency && (await this.#catalogue.findEarlier(evaluation.principal, idempotency));
  }
}
