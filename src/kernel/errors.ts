/**
 * Every error that Muster raises on purpose is one of these. The kind decides the exit code and, later, the HTTP status;
 * the message says what was wrong, what was expected and what to do about it.
 */
export class MusterError extends Error {
  /** `input`: the caller can mend it. `infrastructure`: the machine or a provider failed. */
  readonly kind: 'input' | 'infrastructure';
  /** Stable, for programs: `suite.invalid`, `sandbox.unavailable`, … */
  readonly code: string;

  constructor(kind: 'input' | 'infrastructure', code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.kind = kind;
    this.code = code;
  }
}

/** Something from outside is wrong: a configuration, suite, checkpoint, flag. */
export class InputError extends MusterError {
  constructor(code: string, message: string, options?: ErrorOptions) {
    super('input', code, message, options);
  }
}

/** A provider, disk or machine failed. Never the fault of an episode, and never to be scored as one. */
export class InfrastructureError extends MusterError {
  constructor(code: string, message: string, options?: ErrorOptions) {
    super('infrastructure', code, message, options);
  }
}

/** The message of anything that was thrown. */
export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
