import { InfrastructureError, InputError } from '../../kernel/errors.ts';

/** The infrastructure failed before a run was over or all of it was stored. `partial` holds what had been folded by then. */
export class RunFailedError<Document> extends InfrastructureError {
  readonly partial: Document;

  /** @param played how much was played, in words: `12 episodes`. */
  constructor(run: 'evaluation' | 'comparison', played: string, partial: Document & { readonly partial: boolean }, cause: Error) {
    const how = partial.partial ? 'was given up' : 'could not be kept whole, though it was over';
    super(`${run}.failed`, `the ${run} ${how} after ${played}: ${cause.message}`, { cause });
    this.partial = partial;
  }
}

/** Codes of `AllFailedError`, for callers that see only the code of an error. */
export const ALL_FAILED = { evaluation: 'evaluation.all-failed', comparison: 'comparison.all-failed' } as const;

/** Every episode of a checkpoint failed, and the suite does not accept that as an answer. `partial` holds what had been folded by then. */
export class AllFailedError<Document> extends InputError {
  readonly partial: Document;

  /** @param failures what failed, how often, and with which error. */
  constructor(run: keyof typeof ALL_FAILED, failures: string, partial: Document) {
    const remedy = 'correct the cause; or, if failures are an answer, declare "failures: scored" with failureScores in the suite';
    super(ALL_FAILED[run], `${failures}\n${remedy}`);
    this.partial = partial;
  }
}
