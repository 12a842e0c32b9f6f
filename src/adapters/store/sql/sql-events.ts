import type { EventLog, NewEvent, StoredEvent } from '../../../evaluation-store/event-log.ts';
import type { EvaluationId } from '../../../kernel/ids.ts';
import { readDate, readDocument, readNumber, readText } from './schema/columns.ts';
import { toStep, type Step } from './schema/database.ts';
import { sql, type Sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

export class SqlEvents extends SqlAdapter implements EventLog {
  async readAfter(evaluation: EvaluationId, sequence: number, limit: number): Promise<readonly StoredEvent[]> {
    const rows = await this.database.query(
      sql`SELECT sequence, type, data, at FROM events WHERE evaluation = (SELECT key FROM evaluations WHERE id = ${evaluation})
          AND sequence > ${sequence} ORDER BY sequence LIMIT ${limit}`,
    );
    return rows.map((row) => ({
      sequence: readNumber(row, 'sequence'),
      type: readText(row, 'type'),
      data: readDocument(row, 'data'),
      at: readDate(row, 'at'),
    }));
  }
}

/**
 * Makes the steps that append events. Counting them in the evaluation's row locks it until the transaction ends: the next transaction gets the next
 * number, and no reader sees it before the earlier ones.
 *
 * @param key of the evaluation. @param at milliseconds.
 */
export function appendEvents(key: number | Sql, events: readonly NewEvent[], at: number): readonly Step[] {
  return events.flatMap(({ type, data }) => [
    toStep(sql`UPDATE evaluations SET events = events + 1 WHERE key = ${key}`),
    toStep(
      sql`INSERT INTO events (evaluation, sequence, type, data, at)
          SELECT key, events, ${type}, ${JSON.stringify(data)}, CAST(${at} AS bigint) FROM evaluations WHERE key = ${key}`,
    ),
  ]);
}
