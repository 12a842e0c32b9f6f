import type {
  Acceptance,
  EarlierAcceptance,
  EvaluationCatalogue,
  EvaluationFilter,
  Idempotency,
} from '../../../evaluation-store/evaluation-catalogue.ts';
import type { NewEvaluation, StoredEvaluation } from '../../../evaluation-store/evaluation-record.ts';
import { pageOf, positionOf, type Page, type PageRequest } from '../../../evaluation-store/paging.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { EvaluationId } from '../../../kernel/ids.ts';
import { numberOf, textOf } from './columns.ts';
import { guard, statement, type Database, type Step } from './database.ts';
import { forgotten, sweepEpisodes } from './discarded.ts';
import { evaluationOfRow } from './evaluation-row.ts';
import { joined, plain, sql, type Sql } from './statement.ts';

export class SqlCatalogue implements EvaluationCatalogue {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  async accept(evaluation: NewEvaluation, idempotency?: Idempotency): Promise<Acceptance> {
    const steps = acceptance(evaluation, idempotency, this.#clock.date().getTime());
    if (await this.#database.transact(steps)) return { kind: 'accepted', evaluation: await this.#existing(evaluation.id) };
    const earlier = idempotency && (await this.earlier(evaluation.principal, idempotency));
    // The evaluation of the key was forgotten in between: now the key is free.
    return earlier ?? this.accept(evaluation, idempotency);
  }

  async earlier(principal: string, { key, fingerprint }: Idempotency): Promise<EarlierAcceptance | undefined> {
    const earlier = sql`
      SELECT k.fingerprint, v.* FROM idempotency_keys k JOIN evaluations v ON v.key = k.evaluation
      WHERE k.principal = ${principal} AND k.key = ${key}`;
    const [row] = await this.#database.query(earlier);
    return row && { kind: textOf(row, 'fingerprint') === fingerprint ? 'repeated' : 'conflict', evaluation: evaluationOfRow(row) };
  }

  async find(id: EvaluationId): Promise<StoredEvaluation | undefined> {
    const [row] = await this.#database.query(sql`SELECT * FROM evaluations WHERE id = ${id}`);
    return row && evaluationOfRow(row);
  }

  async list(filter: EvaluationFilter, { limit, after }: PageRequest): Promise<Page<StoredEvaluation>> {
    const position = after === undefined ? undefined : positionOf(after);
    const conditions = conditionsOf(filter);
    if (position) conditions.push(sql`(created_at, id) < (${position.milliseconds}, ${position.id})`);
    const where = conditions.length === 0 ? plain('') : sql`WHERE ${joined(conditions, ' AND ')}`;
    const rows = await this.#database.query(sql`SELECT * FROM evaluations ${where} ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`);
    return pageOf(rows.map(evaluationOfRow), limit, ({ createdAt, id }) => ({ milliseconds: createdAt.getTime(), id }));
  }

  async requestCancel(id: EvaluationId): Promise<StoredEvaluation | undefined> {
    const requested = sql`
      UPDATE evaluations SET cancel_requested_at = coalesce(cancel_requested_at, ${this.#clock.date().getTime()})
      WHERE id = ${id} AND state IN ('waiting', 'running')`;
    await this.#database.transact([statement(requested)]);
    return this.find(id);
  }

  async forgetEnded(before: Date, limit: number): Promise<number> {
    const ended = await this.#database.query(
      sql`SELECT key FROM evaluations WHERE ended_at < ${before.getTime()} ORDER BY ended_at LIMIT ${limit}`,
    );
    await this.#database.transact(ended.flatMap((row) => forgotten(numberOf(row, 'key'))));
    await sweepEpisodes(this.#database);
    return ended.length;
  }

  async #existing(id: EvaluationId): Promise<StoredEvaluation> {
    const evaluation = await this.find(id);
    if (evaluation) return evaluation;
    throw new InfrastructureError(
      'store.unreadable',
      `evaluation ${id} was stored, and is not there; was the database changed by another program?`,
    );
  }
}

/** The key comes first: of two requests with the same one, the later waits for the earlier one and then finds it taken. */
function acceptance(evaluation: NewEvaluation, idempotency: Idempotency | undefined, now: number): readonly Step[] {
  const { id, principal, request, suite, run, version, labels, priority } = evaluation;
  const key = sql`(SELECT key FROM evaluations WHERE id = ${id})`;
  const keyed = idempotency
    ? [
        guard(
          sql`INSERT INTO idempotency_keys (principal, key, fingerprint) VALUES (${principal}, ${idempotency.key}, ${idempotency.fingerprint})
              ON CONFLICT DO NOTHING RETURNING key`,
        ),
      ]
    : [];
  const keyOf = idempotency
    ? [statement(sql`UPDATE idempotency_keys SET evaluation = ${key} WHERE principal = ${principal} AND key = ${idempotency.key}`)]
    : [];
  return [
    ...keyed,
    statement(
      sql`INSERT INTO evaluations (id, principal, suite, run, version, labels, priority, request, state, created_at, events)
          VALUES (${id}, ${principal}, ${suite}, ${run}, ${version}, ${JSON.stringify(labels)}, ${priority}, ${JSON.stringify(request)},
            'waiting', ${now}, 1)`,
    ),
    ...keyOf,
    ...Object.entries(labels).map(([name, value]) =>
      statement(sql`INSERT INTO evaluation_labels (name, value, evaluation) VALUES (${name}, ${value}, ${key})`),
    ),
    statement(
      sql`INSERT INTO events (evaluation, sequence, type, data, at) VALUES (${key}, 1, 'state', ${JSON.stringify({ state: 'waiting' })}, ${now})`,
    ),
  ];
}

function conditionsOf({ principal, suite, run, states, label, from, before }: EvaluationFilter): Sql[] {
  return [
    ...(principal === undefined ? [] : [sql`principal = ${principal}`]),
    ...(suite === undefined ? [] : [sql`suite = ${suite}`]),
    ...(run === undefined ? [] : [sql`run = ${run}`]),
    ...(states === undefined
      ? []
      : [
          states.length === 0
            ? plain('1 = 0')
            : sql`state IN (${joined(
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
