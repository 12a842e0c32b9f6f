import { InfrastructureError } from '../../kernel/errors.ts';

/**
 * The provider's service refuses creations for now: they come too fast, or the account has reached its maximum of sandboxes. This is no
 * failure of the provider: the pool slows down and keeps trying for as long as an evaluation waits.
 */
export class ProviderBusyError extends InfrastructureError {
  /** The time to wait before the next request, if the service states it. */
  readonly retryAfterMs: number | undefined;

  constructor(code: string, message: string, options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {}) {
    super(code, message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}
