import type { AnswerCache, GivenAnswer, Question, RepeatedAnswer } from '../../../evaluation-store/answer-cache.ts';
import type { Acceptance, EvaluationCatalogue, Idempotency } from '../../../evaluation-store/evaluation-catalogue.ts';
import type { NewEvaluation } from '../../../evaluation-store/evaluation-record.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { acceptance, acceptedEvaluation, keyOf } from './acceptance.ts';
import { documentOf, numberOf } from './schema/columns.ts';
import { guard, statement, type Database } from './schema/database.ts';
import { evaluationOfRow } from './evaluation-row.ts';
import { stateEvent } from './sql-course.ts';
import { appendEvents } from './sql-events.ts';
import { announceSteps } from './sql-webhooks.ts';
import { plain, sql } from './schema/statement.ts';

export class SqlAnswers implements AnswerCache {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #catalogue: Pick<EvaluationCatalogue, 'earlier'>;

  constructor(database: Database, clock: Clock, catalogue: Pick<EvaluationCatalogue, 'earlier'>) {
    this.#database = database;
    this.#clock = clock;
    this.#catalogue = catalogue;
  }

  async findAnswer(question: Question): Promise<GivenAnswer | undefined> {
    const [row] = await this.#database.query(
      sql`SELECT v.key, v.summary FROM answers a JOIN evaluations v ON v.key = a.evaluation WHERE a.question = ${question}`,
    );
    return row && { key: numberOf(row, 'key'), summary: documentOf(row, 'summary') };
  }

  async repeat(
    evaluation: NewEvaluation,
    { given, summary, webhooks }: RepeatedAnswer,
    idempotency?: Idempotency,
  ): Promise<Acceptance | undefined> {
    const now = this.#clock.date().getTime();
    const key = keyOf(evaluation.id);
    const rows = await this.#database.transact([
      ...acceptance(evaluation, idempotency, now),
      // While its row is locked, its episodes are not removed.
      guard(sql`SELECT 1 AS kept FROM evaluations WHERE key = ${given.key}${plain(this.#database.dialect.shared)}`),
      statement(
        sql`UPDATE evaluations SET state = 'finished', started_at = ${now}, ended_at = ${now}, summary = ${JSON.stringify(summary)}
            WHERE id = ${evaluation.id}`,
      ),
      ...appendEvents(key, [stateEvent('running'), stateEvent('finished')], now),
      statement(
        sql`INSERT INTO episodes (evaluation, arm, episode, task, outcome, result, length, seconds, extra)
            SELECT ${key}, arm, episode, task, outcome, result, length, seconds, extra FROM episodes WHERE evaluation = ${given.key}`,
      ),
      ...announceSteps(key, webhooks, now),
      acceptedEvaluation(evaluation.id),
    ]);
    if (rows) return { kind: 'accepted', evaluation: evaluationOfRow(rows.at(-1)?.[0] ?? {}) };
    return idempotency && (await this.#catalogue.earlier(evaluation.principal, idempotency));
  }
}
