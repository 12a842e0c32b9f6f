import { InputError } from '../../../kernel/errors.ts';

/** The account of the sandboxes. The SDK takes omitted parts from E2B_DOMAIN, E2B_API_URL and E2B_SANDBOX_URL. */
export interface E2bAccount {
  /** Secret. Empty: there is none. */
  readonly apiKey: string;
  readonly apiUrl?: string;
  readonly sandboxUrl?: string;
}

/** @throws InputError `e2b.credentials` when there is no key. */
export function checkAccount({ apiKey }: E2bAccount): void {
  if (apiKey === '') throw createCredentialsError('there is no API key');
}

export function createCredentialsError(problem: string, cause?: unknown): InputError {
  const remedy = 'set the environment variable E2B_API_KEY to a key from https://e2b.dev/dashboard?tab=keys';
  return new InputError('e2b.credentials', `E2B: ${problem}; ${remedy}`, { cause });
}
