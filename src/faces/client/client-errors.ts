import { InfrastructureError, InputError, MusterError } from '../../kernel/errors.ts';
import type { ComparisonSummary } from '../../orchestrator/results/comparison-summary.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import type { EvaluationResource } from '../http/schemas/evaluation-schemas.ts';
import type { FieldProblem } from '../http/problems/problem.ts';

export { InfrastructureError, InputError, MusterError };

/** The kind of a refusal, for programs; `code` is more specific. */
export type RefusalReason = 'bad-request' | 'unauthorized' | 'forbidden' | 'not-found' | 'conflict' | 'quota';

const REASONS: Readonly<Record<number, RefusalReason>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  409: 'conflict',
  429: 'quota',
};

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly FieldProblem[] | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** The server refused, with a problem document where possible. */
export class RefusedError extends InputError {
  readonly status: number;
  readonly reason: RefusalReason;
  /** Each wrong field, where the server names them. */
  readonly errors: readonly FieldProblem[];
  /** Seconds until the request may be repeated; undefined when waiting does not help. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, code, detail, errors = [], retryAfterSeconds }: Refusal) {
    super(code, detail);
    this.status = status;
    this.reason = REASONS[status] ?? 'bad-request';
    this.errors = errors;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The server cannot be reached, or cannot answer now. Thrown when this lasted longer than the client's patience. */
export class UnavailableError extends InfrastructureError {
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: string,
    message: string,
    { retryAfterSeconds, cause }: { retryAfterSeconds?: number | undefined; cause?: unknown } = {},
  ) {
    super(code, message, { cause });
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The evaluation was not over in time, and continues: wait again with its id, or cancel it. */
export class WaitTimeoutError extends InfrastructureError {
  readonly evaluationId: string;

  constructor(evaluationId: string, seconds: number) {
    super('evaluation.wait', `${evaluationId} was not over within ${seconds} s; it goes on, and can be waited for by its id`);
    this.evaluationId = evaluationId;
  }
}

/** An evaluation or comparison is over without the answer: it failed, or a caller, a newer version of its run or its deadline ended it. */
export class EvaluationEndedError extends MusterError {
  readonly evaluation: EvaluationResource;
  /** The result that was known by then, labelled partial. It is undefined when nothing was. */
  readonly summary: Summary | ComparisonSummary | undefined;

  constructor(evaluation: EvaluationResource, summary: Summary | ComparisonSummary | undefined) {
    const { id, state, failure } = evaluation;
    const why = failure ? `: ${failure.message}` : '';
    const kept = summary ? '; what is known is in `summary`' : '';
    const kind = state === 'cancelled' ? 'input' : (failure?.kind ?? 'infrastructure');
    super(kind, failure?.code ?? `evaluation.${state}`, `${id} ${state === 'cancelled' ? 'was cancelled' : 'failed'}${why}${kept}`);
    this.evaluation = evaluation;
    this.summary = summary;
  }
}
