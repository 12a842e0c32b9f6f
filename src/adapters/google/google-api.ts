import type { AuthClient } from 'google-auth-library';
import { z } from 'zod';
import { getMessage } from '../../kernel/errors.ts';
import { Once } from '../../kernel/once.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** An error answer of a Google API: https://google.aip.dev/193. */
export class GoogleApiError extends Error {
  /** `PERMISSION_DENIED`, `RESOURCE_EXHAUSTED`, …; `NO_ANSWER` when the request got none, `NO_CREDENTIALS` when there are none. */
  readonly status: string;

  constructor(status: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'GoogleApiError';
    this.status = status;
  }
}

export interface GoogleRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  /** Sent as JSON. */
  readonly body?: object | undefined;
}

const refusalSchema = z.object({ error: z.object({ message: z.string(), status: z.string().optional() }) });

/**
 * Requests to Google APIs in JSON. Google's library finds the credentials: GOOGLE_APPLICATION_CREDENTIALS, those of `gcloud`, the machine's own
 * identity. Nothing is retried here.
 */
export class GoogleApi {
  readonly #client: Once<AuthClient>;

  /** @param isSigned false for a server that is not Google's, an emulator for example: it gets no credentials. */
  constructor(isSigned: boolean) {
    this.#client = new Once(() => createClient(isSigned));
  }

  /** Returns the answer's document. @throws GoogleApiError */
  async send({ method, url, body }: GoogleRequest, signal: AbortSignal): Promise<unknown> {
    try {
      const client = await this.#client.run();
      const { data } = await client.request<unknown>({
        method,
        url,
        ...(body === undefined ? {} : { data: body }),
        signal,
        responseType: 'json',
        retry: false,
        fetchImplementation: fetch,
      });
      return data;
    } catch (error) {
      signal.throwIfAborted();
      throw toGoogleApiError(error);
    }
  }
}

/** The library is loaded with the first request. */
async function createClient(isSigned: boolean): Promise<AuthClient> {
  const { GoogleAuth, PassThroughClient } = await import('google-auth-library');
  if (!isSigned) return new PassThroughClient();
  try {
    return await new GoogleAuth({ scopes: [SCOPE] }).getClient();
  } catch (error) {
    throw new GoogleApiError('NO_CREDENTIALS', getMessage(error), { cause: error });
  }
}

function toGoogleApiError(error: unknown): GoogleApiError {
  if (error instanceof GoogleApiError) return error;
  // A refused stream of answers is a list of one error.
  const answered = readAnswer(error);
  const said = refusalSchema.safeParse(Array.isArray(answered) ? answered[0] : answered);
  if (said.success) return new GoogleApiError(said.data.error.status ?? 'UNKNOWN', said.data.error.message, { cause: error });
  return new GoogleApiError('NO_ANSWER', getMessage(error), { cause: error });
}

function readAnswer(error: unknown): unknown {
  const failed = z.object({ response: z.object({ data: z.unknown() }) }).safeParse(error);
  return failed.success ? failed.data.response.data : undefined;
}
