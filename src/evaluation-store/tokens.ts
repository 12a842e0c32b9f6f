import type { Digest, TokenId } from '../kernel/ids.ts';
import type { Page, PageRequest } from './paging.ts';

/** Each role may do all that the roles before it may do. */
export const ROLES = ['viewer', 'submitter', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** A bearer token as it is stored. Reading the store does not allow using it. */
export interface NewToken {
  readonly id: TokenId;
  /** The principal that the token authenticates. A principal may have several tokens. */
  readonly principal: string;
  readonly role: Role;
  readonly secretDigest: Digest;
  /** The token is refused from then on; undefined when it does not expire. */
  readonly expiresAt: Date | undefined;
}

export interface StoredToken extends NewToken {
  readonly createdAt: Date;
  /** The token is refused since then. */
  readonly revokedAt: Date | undefined;
}

/** The tokens of a server's callers. Tokens stay listed after they end, so that names in the audit can be traced. */
export interface Tokens {
  /** Durable once it resolves. */
  create(token: NewToken): Promise<StoredToken>;

  find(id: TokenId): Promise<StoredToken | undefined>;

  /** Lists the latest first. @throws InputError `cursor.invalid`. */
  list(page: PageRequest): Promise<Page<StoredToken>>;

  /**
   * Once it resolves, every Muster on the store refuses the token. The time of the first revocation is kept. @returns undefined when there
   * is no such token.
   */
  revoke(id: TokenId): Promise<StoredToken | undefined>;
}
