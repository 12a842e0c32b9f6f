import { InputError } from '../../kernel/errors.ts';
import type { Decision } from './quota.ts';

/** A principal requests more than it may use. */
export class QuotaError extends InputError {
  /** Seconds until the request may be repeated; undefined when waiting does not help. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ code, reason, retryAfterSeconds }: Extract<Decision, { kind: 'refuse' }>) {
    super(code, reason);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
