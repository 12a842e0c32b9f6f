import type { Digest } from '../kernel/ids.ts';

/** Records that a principal has sent a checkpoint's bytes, or named a URI from which it was read. */
export interface Brought {
  readonly principal: string;
  readonly digest: Digest;
  /** A manifest has the same digest as its directory. So a principal that brought a manifest as a file has not brought the directory's files. */
  readonly kind: CheckpointKind;
  /** The file's name, whose suffix gives the format; undefined for a directory or when unknown. */
  readonly name: string | undefined;
}

type CheckpointKind = 'file' | 'directory';

/** Records that a principal lets another one use a checkpoint. */
export interface Grant {
  readonly digest: Digest;
  /** The principal that may use it. */
  readonly principal: string;
  /** The principal that allowed it. */
  readonly grantedBy: string;
}

export interface StoredGrant extends Grant {
  readonly at: Date;
}

/** A checkpoint that a principal may use. */
export interface Usable {
  /** Whether the principal, or the one who granted it, brought a file or a directory. */
  readonly kind: CheckpointKind;
  /** The name that the principal, or the one who granted it, gave the file. */
  readonly name: string | undefined;
}

/**
 * Says which principal may use which checkpoint: knowing a digest is not enough. Rights remain when a checkpoint's bytes are removed, and apply again
 * when a caller brings the same bytes.
 */
export interface CheckpointRights {
  /** Durable once it resolves. When a checkpoint is brought again, the latest kind and name count. */
  bring(brought: readonly Brought[]): Promise<void>;

  /** Returns those of the digests that the principal has brought or was granted. */
  findUsable(principal: string, digests: readonly Digest[]): Promise<ReadonlyMap<Digest, Usable>>;

  /** Finds the kind and name with which the checkpoint was first brought; undefined when it never was. */
  findFirstBrought(digest: Digest): Promise<Usable | undefined>;

  hasBrought(principal: string, digest: Digest): Promise<boolean>;

  /** Durable once it resolves. Granting the same again changes nothing. @returns the grant as it was made the first time. */
  grant(grant: Grant): Promise<StoredGrant>;

  /** @param grantedBy whose grants are revoked: those of all principals when left out. @returns the revoked grants. */
  revoke(digest: Digest, principal: string, grantedBy?: string): Promise<readonly StoredGrant[]>;

  /** Grants of a checkpoint, by principal; of `grantedBy`, or of all when it is left out. At most `limit`. */
  listGrants(digest: Digest, limit: number, grantedBy?: string): Promise<readonly StoredGrant[]>;
}
