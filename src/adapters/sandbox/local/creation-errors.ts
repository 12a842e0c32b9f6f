import { getMessage, InfrastructureError, MusterError } from '../../../kernel/errors.ts';
import { formatExactBytes } from '../../../kernel/text/figures.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';

export function createOutOfMemoryError(cause: unknown, { limits }: SandboxTemplate): InfrastructureError {
  const detail = `the memory limit of ${formatExactBytes(limits.memoryBytes)} ended what was to start it; raise limits.memoryBytes`;
  return new InfrastructureError('sandbox.start', `${getMessage(cause)}; ${detail}`, { cause });
}

export function createCreationError(error: unknown, subject: string): MusterError {
  if (error instanceof MusterError) return error;
  return new InfrastructureError('sandbox.create', `${subject}: ${getMessage(error)}`, { cause: error });
}
