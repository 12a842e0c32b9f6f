import { InfrastructureError } from '../kernel/errors.ts';

/** The infrastructure gave out before a run was over, or all of it was kept. What had been folded by then is in `partial`. */
export class RunFailedError<Document> extends InfrastructureError {
  readonly partial: Document;

  constructor(code: string, message: string, partial: Document, cause: Error) {
    super(code, message, { cause });
    this.partial = partial;
  }
}
