import type { AuditTrail } from '../../evaluation-store/audit-trail.ts';
import type { Page, PageRequest } from '../../evaluation-store/paging.ts';
import { type Role, type StoredToken, type Tokens } from '../../evaluation-store/tokens.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import type { TokenId } from '../../kernel/ids.ts';
import { mintBearerToken } from './bearer-token.ts';
import { isPrincipalName, PRINCIPAL_EXPECTED } from './caller.ts';

export interface TokenRequest {
  readonly principal: string;
  readonly role: Role;
  /** The lifetime from now; undefined for a token that does not expire. */
  readonly lifetimeMs: number | undefined;
}

export interface IssuedToken {
  readonly token: ListedToken;
  /** Shown once: it is stored nowhere. */
  readonly text: string;
}

/** A token without what it is recognised by. */
export type ListedToken = Omit<StoredToken, 'secretDigest'>;

/** Creates and revokes tokens, here or at a server. */
export type TokenActions = Pick<TokenService, 'issue' | 'list' | 'revoke'>;

/** Gives tokens out and takes them back; the audit has each of both. */
export class TokenService {
  readonly #store: { readonly tokens: Tokens; readonly audit: AuditTrail };
  readonly #clock: Clock;
  /** Principal in whose name it is done. */
  readonly #by: string;

  constructor(store: { readonly tokens: Tokens; readonly audit: AuditTrail }, clock: Clock, by: string) {
    this.#store = store;
    this.#clock = clock;
    this.#by = by;
  }

  /** @throws InputError `token.principal` when it is no name of a principal. */
  async issue({ principal, role, lifetimeMs }: TokenRequest): Promise<IssuedToken> {
    if (!isPrincipalName(principal)) throw new InputError('token.principal', `principal: ${PRINCIPAL_EXPECTED}, got "${principal}"`);
    const { id, secretDigest, text } = mintBearerToken();
    const expiresAt = lifetimeMs === undefined ? undefined : this.#computeDateIn(lifetimeMs);
    // Recorded before it is done, so that every token that works has an entry.
    await this.#record('token.create', id, { principal, role, expiresAt: expiresAt?.toISOString() });
    return { token: toListedToken(await this.#store.tokens.create({ id, principal, role, secretDigest, expiresAt })), text };
  }

  /** Lists the tokens, latest first. @throws InputError `cursor.invalid`. */
  async list(page: PageRequest): Promise<Page<ListedToken>> {
    const { items, next } = await this.#store.tokens.list(page);
    return { items: items.map(toListedToken), next };
  }

  /** @throws InputError `token.unknown`. */
  async revoke(id: TokenId): Promise<ListedToken> {
    const revoked = await this.#store.tokens.revoke(id);
    if (!revoked) throw new InputError('token.unknown', `there is no token ${id}; "muster token list" lists them`);
    await this.#record('token.revoke', id, { principal: revoked.principal, role: revoked.role });
    return toListedToken(revoked);
  }

  #computeDateIn(milliseconds: number): Date {
    const then = this.#clock.date();
    then.setTime(then.getTime() + milliseconds);
    return then;
  }

  #record(action: string, target: string, details: object): Promise<void> {
    return this.#store.audit.record({ principal: this.#by, action, target, details });
  }
}

function toListedToken({ id, principal, role, createdAt, expiresAt, revokedAt }: StoredToken): ListedToken {
  return { id, principal, role, createdAt, expiresAt, revokedAt };
}
