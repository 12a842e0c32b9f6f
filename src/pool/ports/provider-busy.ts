import { InfrastructureError } from '../../kernel/errors.ts';

/**
 * The provider's service takes no more creations just now: they come too fast, or there are as many sandboxes as the account may have.
 * It is no failure of the provider: the pool slows down and tries again for as long as an evaluation waits.
 */
export class ProviderBusyError extends InfrastructureError {
  /** How long the service wants to be left alone, if it said so. */
  readonly retryAfterMs: number | undefined;

  constructor(code: string, message: string, options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {}) {
    super(code, message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}
