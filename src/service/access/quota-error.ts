import { InputError } from '../../kernel/errors.ts';
import type { Decision } from './quota.ts';

/** A principal asks for more than it may use. */
export class QuotaError extends InputError {
  /** After which it may be asked again; undefined when time alone mends nothing. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ code, reason, retryAfterSeconds }: Extract<Decision, { kind: 'refuse' }>) {
    super(code, reason);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
