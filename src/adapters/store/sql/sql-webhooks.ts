import type { NewWebhook, WebhookDelivery, WebhookOutbox } from '../../../evaluation-store/webhook-outbox.ts';
import { parseEvaluationId } from '../../../kernel/ids.ts';
import { readDate, readDocument, readNumber, readOptional, readText } from './schema/columns.ts';
import { toStep, type Step } from './schema/database.ts';
import { joinSql, toPlainSql, sql, type Sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

export class SqlWebhooks extends SqlAdapter implements WebhookOutbox {
  async take(limit: number, milliseconds: number, except: readonly string[] = []): Promise<readonly WebhookDelivery[]> {
    const now = this.clock.date().getTime();
    const taken = sql`
      UPDATE webhooks SET attempts = attempts + 1, due_at = ${now + milliseconds} WHERE id IN
        (SELECT id FROM webhooks WHERE due_at <= ${now}${excludeUrls(except)} ORDER BY due_at, id LIMIT ${limit}${toPlainSql(this.database.dialect.skipTaken)})
      RETURNING id, url, body, attempts, (SELECT v.id FROM evaluations v WHERE v.key = webhooks.evaluation) AS evaluation`;
    const rows = (await this.database.transact([toStep(taken)]))?.[0] ?? [];
    return rows
      .map((row) => ({
        id: readNumber(row, 'id'),
        evaluation: parseEvaluationId(readText(row, 'evaluation')),
        url: readText(row, 'url'),
        body: readDocument(row, 'body'),
        attempt: readNumber(row, 'attempts'),
      }))
      .sort((a, b) => a.id - b.id);
  }

  async settle(delivery: WebhookDelivery): Promise<void> {
    await this.database.transact([toStep(sql`DELETE FROM webhooks WHERE ${selectAttempt(delivery)}`)]);
  }

  async postpone(delivery: WebhookDelivery, until: Date): Promise<void> {
    await this.database.transact([toStep(sql`UPDATE webhooks SET due_at = ${until.getTime()} WHERE ${selectAttempt(delivery)}`)]);
  }

  async abandon(delivery: WebhookDelivery, reason: string): Promise<void> {
    const abandoned = sql`UPDATE webhooks SET due_at = NULL, failure = ${JSON.stringify(reason)} WHERE ${selectAttempt(delivery)}`;
    await this.database.transact([toStep(abandoned)]);
  }

  async findNextDue(except: readonly string[] = []): Promise<Date | undefined> {
    const [row] = await this.database.query(sql`SELECT min(due_at) AS due FROM webhooks WHERE due_at IS NOT NULL${excludeUrls(except)}`);
    return row && readOptional(row, 'due', readDate);
  }
}

/** Returns the steps that have webhooks delivered from now on. @param key of the evaluation. @param now milliseconds. */
export function planAnnouncement(key: number | Sql, webhooks: readonly NewWebhook[], now: number): readonly Step[] {
  return webhooks.map(({ url, body }) =>
    toStep(sql`INSERT INTO webhooks (evaluation, url, body, attempts, due_at) VALUES (${key}, ${url}, ${JSON.stringify(body)}, 0, ${now})`),
  );
}

function excludeUrls(urls: readonly string[]): Sql {
  if (urls.length === 0) return toPlainSql('');
  const listed = joinSql(
    urls.map((url) => sql`${url}`),
    ', ',
  );
  return sql` AND url NOT IN (${listed})`;
}

function selectAttempt({ id, attempt }: WebhookDelivery): Sql {
  return sql`id = ${id} AND attempts = ${attempt}`;
}
