import type { StoredEvaluation } from '../../../evaluation-store/evaluation-record.ts';
import { orderSchema, type EvaluationOrder, type OrderedContent } from '../../../service/orders/evaluation-order.ts';
import { runningFiguresSchema } from '../../../service/orders/running-figures.ts';
import type { EvaluationItem, EvaluationResource } from '../schemas/evaluation-schemas.ts';

/** Returns a stored evaluation as callers see it. */
export function toEvaluationResource(stored: StoredEvaluation): EvaluationResource {
  return { ...toEvaluationItem(stored), summary: stored.summary ?? null };
}

/** An order of another version of Muster is shown as far as it can be read. */
export function toEvaluationItem(stored: StoredEvaluation): EvaluationItem {
  const { id, state, principal, suite, run, version, labels, priority, failure } = stored;
  const order = orderSchema.safeParse(stored.request).data;
  const self = `/v1/evaluations/${id}`;
  return {
    id,
    kind: order?.kind ?? 'evaluation',
    state,
    principal,
    suite,
    checkpoints: order ? getCheckpoints(order) : [],
    run: run ?? null,
    version: version ?? null,
    labels,
    priority,
    createdAt: stored.createdAt.toISOString(),
    startedAt: stored.startedAt?.toISOString() ?? null,
    endedAt: stored.endedAt?.toISOString() ?? null,
    cancelRequestedAt: stored.cancelRequestedAt?.toISOString() ?? null,
    running: runningFiguresSchema.safeParse(stored.running).data ?? null,
    withheld: false,
    failure: failure ? { kind: failure.kind ?? 'infrastructure', code: failure.code, message: failure.message } : null,
    links: { self, events: `${self}/events`, episodes: `${self}/episodes` },
  };
}

type Shown = EvaluationItem['checkpoints'][number];

function getCheckpoints(order: EvaluationOrder): Shown[] {
  switch (order.kind) {
    case 'evaluation':
      return [toShown('subject', order.checkpoint)];
    case 'comparison':
      return [toShown('baseline', order.baseline), ...order.candidates.map((content) => toShown('candidate', content))];
  }
}

function toShown(part: Shown['part'], { uri, digest, name }: OrderedContent): Shown {
  return { part, uri, digest, ...(name === undefined ? {} : { name }) };
}
