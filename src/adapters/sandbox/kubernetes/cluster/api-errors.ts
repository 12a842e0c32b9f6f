import { ApiException } from '@kubernetes/client-node';
import { z } from 'zod';
import { InfrastructureError, InputError, getMessage, MusterError } from '../../../../kernel/errors.ts';
import { tryParseJson } from '../../../../kernel/json-bounds.ts';
import { ProviderBusyError } from '../../../../pool/ports/provider-busy.ts';

const statusSchema = z.object({ message: z.string().default(''), reason: z.string().default(''), code: z.number().optional() });

interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
}

/** The longest pause that a server can request before it is asked again. */
const RETRY_AFTER_MAX_MS = 30_000;
const RBAC_REMEDY = 'give Muster the Role of deploy/kubernetes/rbac.yaml in that namespace';

export function readRefusal(error: unknown): Refusal | undefined {
  if (!(error instanceof ApiException)) return undefined;
  const { message, reason } = parseBody(error.body, error.message);
  const seconds = Number(error.headers['retry-after']);
  const retryAfterMs = Number.isFinite(seconds) ? Math.min(seconds * 1000, RETRY_AFTER_MAX_MS) : undefined;
  return { code: error.code, message, reason, retryAfterMs };
}

/** Reads the text of a refusal that did not come over the client's own connection. */
export function readStatusText(body: string): string {
  return parseBody(body, body.slice(0, 500)).message;
}

function parseBody(body: unknown, otherwise: string): { message: string; reason: string } {
  const parsed = statusSchema.safeParse(typeof body === 'string' ? tryParseJson(body) : body);
  return parsed.success && parsed.data.message !== '' ? parsed.data : { message: otherwise, reason: '' };
}

/** Whether asking again may help: the server is busy or ill, or the connection broke. */
export function isPassing(error: unknown): boolean {
  if (error instanceof MusterError) return error.code === LATE;
  const code = readRefusal(error)?.code;
  if (code === undefined) return error instanceof Error && error.name !== 'AbortError';
  return code === 429 || code >= 500;
}

/** The code of a request that was not answered in time. */
export const LATE = 'kubernetes.late';

export function isNotFound(error: unknown): boolean {
  return readRefusal(error)?.code === 404;
}

export function isConflict(error: unknown): boolean {
  return readRefusal(error)?.code === 409;
}

/** Creates the message about a call that failed for good. @param what as in "create the pod x". */
export function createApiError(error: unknown, what: string): MusterError {
  if (error instanceof MusterError) return error;
  const refusal = readRefusal(error);
  const text = `Kubernetes did not ${what}: ${refusal?.message ?? describeCauses(error)}`;
  if (refusal === undefined) {
    return new InfrastructureError('kubernetes.unreachable', `${text}; is the API server of the kubeconfig's context up?`, {
      cause: error,
    });
  }
  return createRefusalError(refusal, text, error);
}

function createRefusalError({ code, message, retryAfterMs }: Refusal, text: string, cause: unknown): MusterError {
  switch (code) {
    case 401:
      return new InputError('kubernetes.unauthorized', `${text}; renew the credentials of the kubeconfig's user`, { cause });
    case 403:
      return createForbiddenError(message, text, cause);
    case 404:
      return new InfrastructureError('kubernetes.not-found', text, { cause });
    case 400:
    case 422:
      return new InputError('template.refused-by-cluster', `${text}; change the template`, { cause });
    case 429:
      return new ProviderBusyError('kubernetes.busy', `${text}; lower kubernetes.requestsPerSecond`, { cause, retryAfterMs });
    default:
      return new InfrastructureError('kubernetes.failed', `${text} (status ${code})`, { cause });
  }
}

/**
 * The API server sends the same status for a missing permission, and for everything that its admission refuses in a pod: quotas, bounds, policies,
 * classes.
 */
function createForbiddenError(message: string, text: string, cause: unknown): MusterError {
  if (message.includes('exceeded quota')) {
    return new ProviderBusyError('kubernetes.quota', `${text}; lower pool.max, or have the namespace's ResourceQuota raised`, { cause });
  }
  if (message.includes('usage per')) {
    return new InputError('template.limit-refused', `${text}; lower the template's limits to what the namespace's LimitRange allows`, {
      cause,
    });
  }
  if (message.includes('violates PodSecurity')) {
    return new InputError('template.refused-by-cluster', `${text}; the namespace's Pod Security level forbids this template`, { cause });
  }
  if (/ cannot \w+ resource /.test(message)) return new InputError('kubernetes.forbidden', `${text}; ${RBAC_REMEDY}`, { cause });
  return new InputError('template.refused-by-cluster', `${text}; change the template, or what the cluster admits`, { cause });
}

/** fetch's own message is "fetch failed": the error that caused it says more. */
function describeCauses(error: unknown): string {
  if (!(error instanceof Error) || !(error.cause instanceof Error)) return getMessage(error);
  return `${error.message} (${getMessage(error.cause)})`;
}
