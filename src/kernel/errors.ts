/**
 * Base of every error that Muster raises on purpose. The kind decides the exit code and the HTTP status. The message says what was wrong,
 * what was expected and how to correct it.
 */
export class MusterError extends Error {
  /** `input`: the caller can correct it. `infrastructure`: the machine or a provider failed. */
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

/** Invalid input: a configuration, suite, checkpoint or flag. */
export class InputError extends MusterError {
  constructor(code: string, message: string, options?: ErrorOptions) {
    super('input', code, message, options);
  }
}

/** A provider, disk or machine failed. It is never an episode's fault and never scored. */
export class InfrastructureError extends MusterError {
  constructor(code: string, message: string, options?: ErrorOptions) {
    super('infrastructure', code, message, options);
  }
}

/** Returns the message of anything that was thrown. */
export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns anything that was thrown as an error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
