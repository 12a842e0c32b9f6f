import { QuotaError } from '../../../service/access/quota-error.ts';
import { UploadOffsetError } from '../../../policy-distribution/uploads/uploads.ts';
import { MethodNotAllowedError, TooManyRequestsError, UnauthenticatedError } from './refusals.ts';

/** About the time that a restart takes, in seconds. */
const RETRY_UNAVAILABLE = '5';
/** Received bytes of an upload. */
export const UPLOAD_OFFSET = 'upload-offset';

/** Returns headers for programs, besides the problem itself. @param status of the answer. */
export function getProblemHeaders(error: unknown, status: number): Readonly<Record<string, string>> {
  if (error instanceof UnauthenticatedError)
    return { 'www-authenticate': `Bearer realm="muster", code="${error.code}", error_description="${toHeaderText(error.message)}"` };
  if (error instanceof MethodNotAllowedError) return { allow: error.allowed.join(', ') };
  if (error instanceof UploadOffsetError) return { [UPLOAD_OFFSET]: String(error.received) };
  if (error instanceof QuotaError || error instanceof TooManyRequestsError)
    return error.retryAfterSeconds === undefined ? {} : { 'retry-after': String(error.retryAfterSeconds) };
  return status === 503 ? { 'retry-after': RETRY_UNAVAILABLE } : {};
}

/** Makes the text that an answer to HEAD, which has no body, can say in a header (RFC 6750): ASCII without quotation marks. */
function toHeaderText(message: string): string {
  return message
    .replaceAll('…', '...')
    .replaceAll('"', "'")
    .replaceAll(/[^\x20-\x7e]|\\/g, '?');
}
