import { isPrincipalName, PRINCIPAL_EXPECTED, type Caller } from '../access/caller.ts';
import type { AuditTrail } from '../../evaluation-store/audit-trail.ts';
import type { CheckpointRights, StoredGrant } from '../../evaluation-store/checkpoint-rights.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { CheckpointUse } from './checkpoint-use.ts';

export interface GrantServiceOptions {
  readonly rights: CheckpointRights;
  readonly use: Pick<CheckpointUse, 'find'>;
  readonly audit: Pick<AuditTrail, 'record'>;
}

/** The largest number of grants of one checkpoint, by all principals together. A line of the configuration grants it to more. */
const MOST_GRANTS = 1000;

/**
 * Grants and revokes the use of checkpoints. Principals that brought the checkpoint may do so, and operators. A principal that was granted it may
 * not: otherwise its own grants would survive the revocation of its grant.
 */
export class GrantService {
  readonly #options: GrantServiceOptions;

  constructor(options: GrantServiceOptions) {
    this.#options = options;
  }

  /** Granting the same again changes nothing. @throws InputError `grant.principal`, `grant.too-many`, and as `list` does. */
  async grant(digest: Digest, principal: string, caller: Caller): Promise<StoredGrant> {
    const { rights, audit } = this.#options;
    await this.#assertMay(digest, caller);
    if (!isPrincipalName(principal)) throw new InputError('grant.principal', `principal: ${PRINCIPAL_EXPECTED}, got "${principal}"`);
    const grants = await rights.listGrants(digest, MOST_GRANTS);
    const known = grants.find((each) => each.principal === principal && each.grantedBy === caller.principal);
    if (known) return known;
    if (grants.length >= MOST_GRANTS) {
      const remedy = 'take some back, or have an operator add lines to server.grants';
      throw new InputError('grant.too-many', `there are ${MOST_GRANTS} grants of ${digest}, the most that are allowed; ${remedy}`);
    }
    // Recorded first: there is no grant without its entry in the audit.
    await audit.record({ principal: caller.principal, action: 'checkpoint.grant', target: digest, details: { principal } });
    return rights.grant({ digest, principal, grantedBy: caller.principal });
  }

  /** Revokes the grants of a principal that the caller made; for an operator, all of them. @throws InputError as `list` does. */
  async revoke(digest: Digest, principal: string, caller: Caller): Promise<readonly StoredGrant[]> {
    const { rights, audit } = this.#options;
    await this.#assertMay(digest, caller);
    const revoked = await rights.revoke(digest, principal, getGranter(caller));
    if (revoked.length > 0) {
      const details = { principal, grantedBy: revoked.map((each) => each.grantedBy) };
      await audit.record({ principal: caller.principal, action: 'checkpoint.revoke-grant', target: digest, details });
    }
    return revoked;
  }

  /**
   * Lists the caller's grants of a checkpoint; for an operator, all grants.
   *
   * @throws InputError `checkpoint.not-found` when it does not exist for the caller, `grant.not-yours` when the caller may use it without having
   * brought it.
   */
  async list(digest: Digest, caller: Caller): Promise<readonly StoredGrant[]> {
    await this.#assertMay(digest, caller);
    return this.#options.rights.listGrants(digest, MOST_GRANTS, getGranter(caller));
  }

  async #assertMay(digest: Digest, caller: Caller): Promise<void> {
    const { rights, use } = this.#options;
    const { principal, role } = caller;
    const mayGrant =
      role === 'operator' ? (await rights.findFirstBrought(digest)) !== undefined : await rights.hasBrought(principal, digest);
    if (mayGrant) return;
    if (role !== 'operator' && (await use.find(principal, digest)))
      throw new InputError(
        'grant.not-yours',
        `${principal} was granted ${digest} and did not send it; only its senders and operators can grant it to others`,
      );
    throw new InputError('checkpoint.not-found', `there is no checkpoint ${digest}; only a checkpoint that was sent can be granted`);
  }
}

/** Returns the principal whose grants a caller manages; undefined for all. */
function getGranter({ principal, role }: Caller): string | undefined {
  return role === 'operator' ? undefined : principal;
}
