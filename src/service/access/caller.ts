import type { Role } from '../../evaluation-store/tokens.ts';
import type { TokenId } from '../../kernel/ids.ts';

export interface Caller {
  /** Owner of the caller's evaluations, quotas and entries in the audit. */
  readonly principal: string;
  readonly role: Role;
  /** The token of the request; undefined where access is off. */
  readonly token: TokenId | undefined;
}

/** The caller of every request, where access is off. */
export const LOCAL_CALLER: Caller = { principal: 'local', role: 'operator', token: undefined };

const PRINCIPAL = /^[a-z0-9][a-z0-9._@-]{0,62}$/;
export const PRINCIPAL_EXPECTED = 'expected 1 to 63 lower-case letters, digits, ".", "_", "@" and "-", beginning with a letter or digit';

export function isPrincipalName(text: string): boolean {
  return PRINCIPAL.test(text);
}
