import type { BigIntStats } from 'node:fs';
import { InfrastructureError, InputError, MusterError } from '../../kernel/errors.ts';
import { getErrorCode, getReason } from '../../kernel/errno.ts';

/** Throws the errors of reading a file of this machine as errors of Muster. */
export async function translateErrors<Value>(address: string, operation: () => Promise<Value>): Promise<Value> {
  try {
    return await operation();
  } catch (error) {
    throw toReadError(address, error);
  }
}

/** Does so for each step of an iteration, and leaves errors of the consumer unchanged. */
export async function* translateErrorsOfEach<Value>(address: string, values: AsyncIterable<Value>): AsyncGenerator<Value> {
  try {
    yield* values;
  } catch (error) {
    throw toReadError(address, error);
  }
}

export function toReadError(address: string, error: unknown): MusterError {
  if (error instanceof MusterError) return error;
  switch (getErrorCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new InputError('checkpoint.missing', `checkpoint: ${address} does not exist; check the path`, { cause: error });
    case 'EACCES':
    case 'EPERM':
      return new InputError('checkpoint.unreadable', `checkpoint: ${address} may not be read by this user; grant read permission`, {
        cause: error,
      });
    case 'ELOOP':
      return createLinkError(address, 'is a symbolic link to itself');
    default:
      return new InfrastructureError('checkpoint.read', `checkpoint: reading ${address} failed: ${getReason(error, address)}`, {
        cause: error,
      });
  }
}

export function createLinkError(address: string, found: string): InputError {
  return new InputError('checkpoint.link', `checkpoint: ${address} ${found}; replace the link by the file itself (cp -L)`);
}

export function createSpecialFileError(address: string, stats: BigIntStats): InputError {
  const found = stats.isFIFO() ? 'a named pipe' : stats.isSocket() ? 'a socket' : 'a device';
  return new InputError('checkpoint.special', `checkpoint: ${address} is ${found}; expected regular files and directories`);
}
