import type {
  Acceptance,
  EarlierAcceptance,
  EvaluationCatalogue,
  EvaluationFilter,
  Idempotency,
} from '../../../evaluation-store/evaluation-catalogue.ts';
import type { NewEvaluation, StoredEvaluation } from '../../../evaluation-store/evaluation-record.ts';
import { formatCutPage, parseCursor, type Page, type PageRequest } from '../../../evaluation-store/paging.ts';
import type { EvaluationId } from '../../../kernel/ids.ts';
import { planAcceptance, readAcceptedEvaluation } from './acceptance.ts';
import { readNumber, readText } from './schema/columns.ts';
import { toStep } from './schema/database.ts';
import { planForgetting, sweepEpisodes } from './schema/discarded.ts';
import { readEvaluationRow } from './evaluation-row.ts';
import { joinSql, toPlainSql, sql, type Sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

/** The largest number of evaluations that one query names by their ids. */
const ASKED_AT_ONCE = 500;

export class SqlCatalogue extends SqlAdapter implements EvaluationCatalogue {
  async accept(evaluation: NewEvaluation, idempotency?: Idempotency): Promise<Acceptance> {
    const rows = await this.database.transact([
      ...planAcceptance(evaluation, idempotency, this.clock.date().getTime()),
      readAcceptedEvaluation(evaluation.id),
    ]);
    if (rows) return { kind: 'accepted', evaluation: readEvaluationRow(rows.at(-1)?.[0] ?? {}) };
    const earlier = idempotency && (await this.findEarlier(evaluation.principal, idempotency));
    // The evaluation of the key was forgotten in between: now the key is free.
    return earlier ?? this.accept(evaluation, idempotency);
  }

  async findEarlier(principal: string, { key, fingerprint }: Idempotency): Promise<EarlierAcceptance | undefined> {
    const earlier = sql`
      SELECT k.fingerprint, v.* FROM idempotency_keys k JOIN evaluations v ON v.key = k.evaluation
      WHERE k.principal = ${principal} AND k.key = ${key}`;
    const [row] = await this.database.query(earlier);
    return row && { kind: readText(row, 'fingerprint') === fingerprint ? 'repeated' : 'conflict', evaluation: readEvaluationRow(row) };
  }

  async find(id: EvaluationId): Promise<StoredEvaluation | undefined> {
    const [row] = await this.database.query(sql`SELECT * FROM evaluations WHERE id = ${id}`);
    return row && readEvaluationRow(row);
  }

  async findOver(ids: readonly EvaluationId[]): Promise<readonly EvaluationId[]> {
    const open = new Set<string>();
    for (let from = 0; from < ids.length; from += ASKED_AT_ONCE) {
      const asked = ids.slice(from, from + ASKED_AT_ONCE).map((id) => sql`${id}`);
      const rows = await this.database.query(
        sql`SELECT id FROM evaluations WHERE id IN (${joinSql(asked, ', ')}) AND state IN ('waiting', 'running')`,
      );
      for (const row of rows) open.add(readText(row, 'id'));
    }
    return ids.filter((id) => !open.has(id));
  }

  async list(filter: EvaluationFilter, { limit, after }: PageRequest): Promise<Page<StoredEvaluation>> {
    const position = after === undefined ? undefined : parseCursor(after);
    const conditions = buildConditions(filter);
    if (position) conditions.push(sql`(created_at, id) < (${position.milliseconds}, ${position.id})`);
    const where = conditions.length === 0 ? toPlainSql('') : sql`WHERE ${joinSql(conditions, ' AND ')}`;
    const rows = await this.database.query(sql`SELECT * FROM evaluations ${where} ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`);
    return formatCutPage(rows.map(readEvaluationRow), limit, ({ createdAt, id }) => ({ milliseconds: createdAt.getTime(), id }));
  }

  async requestCancel(id: EvaluationId): Promise<StoredEvaluation | undefined> {
    const requested = sql`
      UPDATE evaluations SET cancel_requested_at = coalesce(cancel_requested_at, ${this.clock.date().getTime()})
      WHERE id = ${id} AND state IN ('waiting', 'running')`;
    await this.database.transact([toStep(requested)]);
    return this.find(id);
  }

  async forgetEnded(before: Date, limit: number): Promise<number> {
    const ended = await this.database.query(
      sql`SELECT key FROM evaluations WHERE ended_at < ${before.getTime()} ORDER BY ended_at LIMIT ${limit}`,
    );
    await this.database.transact(ended.flatMap((row) => planForgetting(readNumber(row, 'key'))));
    await sweepEpisodes(this.database);
    return ended.length;
  }
}

function buildConditions({ principal, suite, run, states, label, from, before }: EvaluationFilter): Sql[] {
  return [
    ...(principal === undefined ? [] : [sql`principal = ${principal}`]),
    ...(suite === undefined ? [] : [sql`suite = ${suite}`]),
    ...(run === undefined ? [] : [sql`run = ${run}`]),
    ...(states === undefined
      ? []
      : [
          states.length === 0
            ? toPlainSql('1 = 0')
            : sql`state IN (${joinSql(
                states.map((state) => sql`${state}`),
                ', ',
              )})`,
        ]),
    ...(label === undefined
      ? []
      : [sql`key IN (SELECT evaluation FROM evaluation_labels WHERE name = ${label.name} AND value = ${label.value})`]),
    ...(from === undefined ? [] : [sql`created_at >= ${from.getTime()}`]),
    ...(before === undefined ? [] : [sql`created_at < ${before.getTime()}`]),
  ];
}
