import type { Digest, TokenId } from '../kernel/ids.ts';
import type { Page, PageRequest } from './paging.ts';

/** Each may do all that the ones before it may. */
export const ROLES = ['viewer', 'submitter', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** A bearer token as it is stored: reading the store does not allow using it. */
export interface NewToken {
  readonly id: TokenId;
  /** Who it speaks for. One principal may have several. */
  readonly principal: string;
  readonly role: Role;
  /** Of the token's secret. */
  readonly secretDigest: Digest;
  /** From then on it is refused; undefined for one that does not expire. */
  readonly expiresAt: Date | undefined;
}

export interface StoredToken extends NewToken {
  readonly createdAt: Date;
  /** Since then it is refused. */
  readonly revokedAt: Date | undefined;
}

/** Who may speak to a server. Tokens stay listed when they are over, so that the audit's names can be traced. */
export interface Tokens {
  /** Durable once it resolves. */
  create(token: NewToken): Promise<StoredToken>;

  find(id: TokenId): Promise<StoredToken | undefined>;

  /** Latest first. @throws InputError `cursor.invalid`. */
  list(page: PageRequest): Promise<Page<StoredToken>>;

  /** In force, for every Muster on the store, once it resolves; the time of the first revocation stays. @returns undefined when there is no such token. */
  revoke(id: TokenId): Promise<StoredToken | undefined>;
}
