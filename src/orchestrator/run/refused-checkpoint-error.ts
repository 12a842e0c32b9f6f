import { InputError, getMessage } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import { isWeightsFile, type Checkpoint } from '../../policy-distribution/checkpoint.ts';

/** File of a directory that says which file is the policy. */
const DESCRIPTION = 'muster.json';

/** A runner has refused a checkpoint: it is broken, or does not fit the suite. */
export class RefusedCheckpointError extends InputError {
  readonly digest: Digest;

  constructor(digest: Digest, cause: InputError) {
    super(cause.code, cause.message, { cause });
    this.digest = digest;
  }
}

/** The largest number of files in a message. */
const MOST_NAMED = 8;

/** Refuses, before there is a sandbox, what Muster's runner refuses because of its files alone. @throws RefusedCheckpointError */
export function assertOnePolicy({ digest, files }: Pick<Checkpoint, 'digest' | 'files'>): void {
  const weights = files.map(({ path }) => path).filter(isWeightsFile);
  if (weights.length < 2 || files.some(({ path }) => path === DESCRIPTION)) return;
  const found = `the checkpoint directory has ${weights.length} files of weights and no ${DESCRIPTION} that says which one is the policy`;
  const message = `${found}: ${weights.slice(0, MOST_NAMED).join(', ')}; give one of the files as the checkpoint, or write ${DESCRIPTION}`;
  throw new RefusedCheckpointError(digest, new InputError('checkpoint.refused', message));
}

interface Named {
  /** The URI as the caller wrote it. */
  readonly uri: string;
  /** Replaces the URI in messages. */
  readonly name?: string | undefined;
  readonly checkpoint: { readonly digest: Digest };
}

/** Returns the error with the name of its checkpoint, as a caller may have given several. */
export function nameCheckpoint(error: Error, given: readonly Named[]): Error {
  if (!(error instanceof RefusedCheckpointError)) return error;
  const named = given.find(({ checkpoint }) => checkpoint.digest === error.digest);
  return named ? new InputError(error.code, `${named.name ?? named.uri}: ${getMessage(error)}`, { cause: error }) : error;
}
