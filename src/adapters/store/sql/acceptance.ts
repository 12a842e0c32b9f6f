import type { Idempotency } from '../../../evaluation-store/evaluation-catalogue.ts';
import type { NewEvaluation } from '../../../evaluation-store/evaluation-record.ts';
import type { EvaluationId } from '../../../kernel/ids.ts';
import { guard, toStep, type Step } from './schema/database.ts';
import { sql, type Sql } from './schema/statement.ts';

/**
 * Returns the steps that accept an evaluation, which then waits. The caller's key comes first: of two requests with the same one, the later waits for
 * the earlier one and then finds it taken.
 *
 * @param now milliseconds.
 */
export function planAcceptance(evaluation: NewEvaluation, idempotency: Idempotency | undefined, now: number): readonly Step[] {
  const { id, principal, request, suite, run, version, labels, priority } = evaluation;
  const key = selectKey(id);
  const keyed = idempotency
    ? [
        guard(
          sql`INSERT INTO idempotency_keys (principal, key, fingerprint) VALUES (${principal}, ${idempotency.key}, ${idempotency.fingerprint})
              ON CONFLICT DO NOTHING RETURNING key`,
        ),
      ]
    : [];
  const named = idempotency
    ? [toStep(sql`UPDATE idempotency_keys SET evaluation = ${key} WHERE principal = ${principal} AND key = ${idempotency.key}`)]
    : [];
  return [
    ...keyed,
    toStep(
      sql`INSERT INTO evaluations (id, principal, suite, run, version, labels, priority, request, state, created_at, events)
          VALUES (${id}, ${principal}, ${suite}, ${run}, ${version}, ${JSON.stringify(labels)}, ${priority}, ${JSON.stringify(request)},
            'waiting', ${now}, 1)`,
    ),
    ...named,
    ...Object.entries(labels).map(([name, value]) =>
      toStep(sql`INSERT INTO evaluation_labels (name, value, evaluation) VALUES (${name}, ${value}, ${key})`),
    ),
    toStep(
      sql`INSERT INTO events (evaluation, sequence, type, data, at) VALUES (${key}, 1, 'state', ${JSON.stringify({ state: 'waiting' })}, ${now})`,
    ),
  ];
}

/** Reads the evaluation as it was accepted, in a step that follows all others. */
export function readAcceptedEvaluation(id: EvaluationId): Step {
  return toStep(sql`SELECT * FROM evaluations WHERE id = ${id}`);
}

/** Selects the database's key of an evaluation. */
export function selectKey(id: EvaluationId): Sql {
  return sql`(SELECT key FROM evaluations WHERE id = ${id})`;
}
