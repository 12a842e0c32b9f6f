import type { Digest } from '../kernel/ids.ts';

/** That a principal has sent a checkpoint's bytes, or has named a URI that it was read from. */
export interface Brought {
  readonly principal: string;
  readonly digest: Digest;
  /** The text of a directory's manifest has the directory's digest. Who brought that text has not brought the directory's files. */
  readonly kind: CheckpointKind;
  /** The file's name, whose suffix says what it is; undefined for a directory, and where it is not known. */
  readonly name: string | undefined;
}

type CheckpointKind = 'file' | 'directory';

/** That a principal lets another one use a checkpoint. */
export interface Grant {
  readonly digest: Digest;
  /** Who may use it. */
  readonly principal: string;
  /** Who allowed it. */
  readonly grantedBy: string;
}

export interface StoredGrant extends Grant {
  readonly at: Date;
}

/** A checkpoint that a principal may use. */
export interface Usable {
  /** As what the principal brought it, or the one who granted it did. */
  readonly kind: CheckpointKind;
  /** The name under which the principal brought the file, or under which the one who granted it did. */
  readonly name: string | undefined;
}

/**
 * Which principal may use which checkpoint: knowing a digest is not enough. Rights stay when a checkpoint's bytes are removed, and hold again when
 * a caller brings the same bytes.
 */
export interface CheckpointRights {
  /** Durable once it resolves. Of a checkpoint that is brought again the latest kind and name count. */
  bring(brought: readonly Brought[]): Promise<void>;

  /** Those of the digests that the principal has brought or was granted. */
  findUsable(principal: string, digests: readonly Digest[]): Promise<ReadonlyMap<Digest, Usable>>;

  /** As what, and under which name, the checkpoint was first brought; undefined when it never was. */
  findFirstBrought(digest: Digest): Promise<Usable | undefined>;

  hasBrought(principal: string, digest: Digest): Promise<boolean>;

  /** Durable once it resolves. Granting the same again changes nothing. @returns the grant as it was made the first time. */
  grant(grant: Grant): Promise<StoredGrant>;

  /** @param grantedBy whose grants are taken back: those of all principals when left out. @returns what was taken back. */
  revoke(digest: Digest, principal: string, grantedBy?: string): Promise<readonly StoredGrant[]>;

  /** Grants of a checkpoint, by principal; of `grantedBy`, or of all when it is left out. At most `limit`. */
  listGrants(digest: Digest, limit: number, grantedBy?: string): Promise<readonly StoredGrant[]>;
}
