import type { Question } from '../../../evaluation-store/answer-cache.ts';
import type { Conclusion, EvaluationCourse, Report } from '../../../evaluation-store/evaluation-course.ts';
import type { EvaluationState } from '../../../evaluation-store/evaluation-record.ts';
import type { NewEvent } from '../../../evaluation-store/event-log.ts';
import type { Ownership } from '../../../evaluation-store/ownership.ts';
import { toStep, type Step } from './schema/database.ts';
import { transactOwned } from './schema/owned.ts';
import { appendEvents } from './sql-events.ts';
import { planAnnouncement } from './sql-webhooks.ts';
import { sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

export class SqlCourse extends SqlAdapter implements EvaluationCourse {
  async begin(ownership: Ownership): Promise<void> {
    const { key } = ownership;
    const now = this.#now();
    const began = sql`UPDATE evaluations SET state = 'running', started_at = ${now}, events = events + 1 WHERE key = ${key} AND state = 'waiting'`;
    // Inserts nothing when it was running already: the event with this number exists.
    const event = sql`
      INSERT INTO events (evaluation, sequence, type, data, at)
      SELECT key, events, 'state', ${JSON.stringify({ state: 'running' })}, CAST(${now} AS bigint) FROM evaluations WHERE key = ${key}
      ON CONFLICT DO NOTHING`;
    await transactOwned(this.database, ownership, [toStep(began), toStep(event)]);
  }

  async report(ownership: Ownership, report: Report): Promise<void> {
    await transactOwned(this.database, ownership, reportSteps(ownership.key, report, this.#now()));
  }

  async conclude(ownership: Ownership, { state, report, summary, failure, question, withheld, webhooks }: Conclusion): Promise<void> {
    const { key } = ownership;
    const now = this.#now();
    await transactOwned(this.database, ownership, [
      ...(report ? reportSteps(key, report, now) : []),
      toStep(
        sql`UPDATE evaluations SET state = ${state}, ended_at = ${now}, summary = ${formatJson(summary)}, failure = ${formatJson(failure)}
            WHERE key = ${key}`,
      ),
      ...appendEvents(key, [createStateEvent(state)], now),
      ...planAnnouncement(key, webhooks, now),
      ...planAnswerSteps(key, question),
      ...(withheld === true ? [toStep(sql`DELETE FROM cache_donors WHERE evaluation = ${key}`)] : []),
      toStep(sql`UPDATE ownerships SET expires_at = 0, fence = fence + 1 WHERE evaluation = ${key}`),
    ]);
  }

  #now(): number {
    return this.clock.date().getTime();
  }
}

export function createStateEvent(state: EvaluationState): NewEvent {
  return { type: 'state', data: { state } };
}

function reportSteps(key: number, { running, events }: Report, now: number): readonly Step[] {
  return [toStep(sql`UPDATE evaluations SET running = ${JSON.stringify(running)} WHERE key = ${key}`), ...appendEvents(key, events, now)];
}

function planAnswerSteps(key: number, question: Question | undefined): readonly Step[] {
  if (question === undefined) return [];
  return [
    toStep(
      sql`INSERT INTO answers (question, evaluation) VALUES (${question}, ${key})
          ON CONFLICT (question) DO UPDATE SET evaluation = excluded.evaluation`,
    ),
  ];
}

function formatJson(document: object | undefined): string | undefined {
  return document && JSON.stringify(document);
}
