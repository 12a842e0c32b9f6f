import { InfrastructureError } from '../kernel/errors.ts';

/** The infrastructure gave out before a run was over, or all of it was kept. What had been folded by then is in `partial`. */
export class RunFailedError<Document> extends InfrastructureError {
  readonly partial: Document;

  /** @param played how much of it, as people say it: `12 episodes`. */
  constructor(run: 'evaluation' | 'comparison', played: string, partial: Document & { readonly partial: boolean }, cause: Error) {
    const how = partial.partial ? 'was given up' : 'could not be kept whole, though it was over';
    super(`${run}.failed`, `the ${run} ${how} after ${played}: ${cause.message}`, { cause });
    this.partial = partial;
  }
}
