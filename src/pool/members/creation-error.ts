import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import type { CreationHistory } from '../planning/creation-history.ts';
import { EndedEarlyError } from '../ports/ended-early-error.ts';

/** Creates the error for waiters when creations keep failing. */
export function createCreationError({ failures, lastError }: Pick<CreationHistory, 'failures' | 'lastError'>): Error {
  if (lastError instanceof InputError) return lastError;
  const failed = `${failures} attempts in a row failed, the last one with: ${getMessage(lastError)}`;
  if (lastError instanceof EndedEarlyError) {
    const remedy = 'correct the template: its python, imports, command or limits; "muster doctor" tries it';
    return new InputError('runner.cannot-start', `the template's program does not start: ${failed}; ${remedy}`, { cause: lastError });
  }
  const text = `no sandbox could be created: ${failed}`;
  return new InfrastructureError('pool.creation-failed', text, { cause: lastError });
}
