import type { Tokens } from '../../evaluation-store/tokens.ts';
import type { Clock } from '../../kernel/clock.ts';
import { digestBytes } from '../../kernel/canonical-json.ts';
import { isSecretOf, readBearerToken } from './bearer-token.ts';
import type { Caller } from './caller.ts';

export type Authentication =
  { readonly kind: 'caller'; readonly caller: Caller } | { readonly kind: 'refused'; readonly why: RefusedToken };

/** `expired` and `revoked` are answered only to a caller with the whole token. Others learn nothing about existing ids. */
export type RefusedToken = 'missing' | 'malformed' | 'unknown' | 'expired' | 'revoked';

const SCHEME = /^bearer +(?<token>\S+) *$/i;
/** Compared when there is no such token, so that the answer takes the same time. */
const UNKNOWN_SECRET = digestBytes('');

/**
 * Looks the token up each time: a revoked token is refused at once, by every Muster on the store.
 *
 * @param authorization the header's value. @throws InfrastructureError when the store cannot be queried.
 */
export async function authenticate(tokens: Pick<Tokens, 'find'>, clock: Clock, authorization: string | undefined): Promise<Authentication> {
  if (authorization === undefined) return refuse('missing');
  const presented = readBearerToken(SCHEME.exec(authorization)?.groups?.['token'] ?? '');
  if (!presented) return refuse('malformed');
  const token = await tokens.find(presented.id);
  const isGenuine = isSecretOf(presented.secret, token?.secretDigest ?? UNKNOWN_SECRET);
  if (!token || !isGenuine) return refuse('unknown');
  if (token.revokedAt !== undefined) return refuse('revoked');
  if (token.expiresAt !== undefined && token.expiresAt.getTime() <= clock.date().getTime()) return refuse('expired');
  return { kind: 'caller', caller: { principal: token.principal, role: token.role, token: token.id } };
}

function refuse(why: RefusedToken): Authentication {
  return { kind: 'refused', why };
}

/** Describes what a refused caller can do about it. */
export function describeRemedy(why: RefusedToken): string {
  switch (why) {
    case 'missing':
      return 'a token is needed: set MUSTER_TOKEN for muster commands and clients, or send the header "Authorization: Bearer muster_…"; an operator makes tokens with "muster token create"';
    case 'malformed':
      return 'what was given as the token is none of Muster; expected all of muster_…, as "muster token create" printed it (commands and clients take it from MUSTER_TOKEN)';
    case 'unknown':
      return 'no such token is known here: it is mistyped, or one of another server; an operator makes new ones with "muster token create"';
    case 'expired':
      return 'the token has expired; ask an operator for a new one';
    case 'revoked':
      return 'the token was revoked; ask an operator for a new one';
  }
}
