import { InputError, getMessage } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';

/** A runner has refused a checkpoint: it is broken, or does not fit the suite. */
export class RefusedCheckpointError extends InputError {
  readonly digest: Digest;

  constructor(digest: Digest, cause: InputError) {
    super(cause.code, cause.message, { cause });
    this.digest = digest;
  }
}

interface Named {
  /** As the caller gave it. */
  readonly uri: string;
  readonly checkpoint: { readonly digest: Digest };
}

/** The error with the name of the checkpoint that it is about: a caller may have given several. */
export function nameCheckpoint(error: Error, given: readonly Named[]): Error {
  if (!(error instanceof RefusedCheckpointError)) return error;
  const named = given.find(({ checkpoint }) => checkpoint.digest === error.digest);
  return named ? new InputError(error.code, `${named.uri}: ${getMessage(error)}`, { cause: error }) : error;
}
