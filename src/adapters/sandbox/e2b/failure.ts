import { AuthenticationError, NotEnoughSpaceError, NotFoundError, RateLimitError, SandboxError } from 'e2b';
import { InfrastructureError, InputError, getMessage, MusterError } from '../../../kernel/errors.ts';
import { ProviderBusyError } from '../../../pool/ports/provider-busy.ts';
import { createCredentialsError } from './account.ts';

/** Status codes after which the same request will not succeed. */
const REFUSED: ReadonlySet<number | undefined> = new Set([400, 403, 404, 413, 422]);

/** Whether the same request may succeed a moment later: the service was busy or failed, or the connection broke. */
export function isPassing(error: unknown): boolean {
  if (error instanceof MusterError || error instanceof AuthenticationError) return false;
  if (error instanceof NotFoundError || error instanceof NotEnoughSpaceError) return false;
  return !REFUSED.has(getStatus(error));
}

/**
 * Whether a failed creation has certainly made no sandbox. After any other error, such as a broken connection, there may be a sandbox whose id never
 * reached the caller.
 */
export function hasMadeNothing(error: unknown): boolean {
  return error instanceof RateLimitError || error instanceof AuthenticationError || REFUSED.has(getStatus(error));
}

/** Converts an error of the SDK. @param doing such as `create a sandbox`. */
export function toE2bError(error: unknown, doing: string): MusterError {
  if (error instanceof MusterError) return error;
  const said = getMessage(error);
  if (error instanceof AuthenticationError) return createCredentialsError('the API key was refused', error);
  if (error instanceof RateLimitError) {
    const remedy = "lower maxSandboxes or creationsPerSecond of the template's e2b settings to what the plan allows, if this lasts";
    return new ProviderBusyError('e2b.busy', `E2B is busy and did not ${doing}: ${said}; ${remedy}`, { cause: error });
  }
  if (getStatus(error) === 403) return createCredentialsError(`the API key does not allow to ${doing} (${said})`, error);
  if (REFUSED.has(getStatus(error))) {
    const remedy = "set the template's e2b settings (tenancySeconds, template) to what the plan allows";
    return new InputError('e2b.refused', `E2B refused to ${doing}: ${said}; ${remedy}`, { cause: error });
  }
  return new InfrastructureError('e2b.unavailable', `E2B did not ${doing}: ${said}${getCause(error)}`, { cause: error });
}

export function createUnknownTemplateError(name: string, cause?: unknown): InputError {
  const remedy = 'build it with deploy/e2b/build-template.ts, or set e2b.template to one of this account';
  return new InputError('e2b.template-unknown', `E2B has no template "${name}" for this API key; ${remedy}`, { cause });
}

export function getStatus(error: unknown): number | undefined {
  return error instanceof SandboxError ? error.statusCode : undefined;
}

/** Details of a connection's failure are in the cause of fetch's error. */
function getCause(error: unknown): string {
  return error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
}
