import type { Brought, CheckpointRights, Grant, StoredGrant, Usable } from '../../../src/evaluation-store/checkpoint-rights.ts';
import type { Digest } from '../../../src/kernel/ids.ts';
import type { Memory } from './memory.ts';
import { InMemoryPart } from './in-memory-part.ts';

export class InMemoryCheckpointRights extends InMemoryPart implements CheckpointRights {
  async bring(brought: readonly Brought[]): Promise<void> {
    for (const { principal, digest, kind, name } of brought) {
      const known = this.#brought(principal, digest);
      if (known) Object.assign(known, { kind, name });
      else this.memory.broughtCheckpoints.push({ principal, digest, kind, name, at: this.memory.now });
    }
  }

  async findUsable(principal: string, digests: readonly Digest[]): Promise<ReadonlyMap<Digest, Usable>> {
    const usable = new Map<Digest, Usable>();
    for (const digest of digests) {
      const own = this.#brought(principal, digest);
      const grants = this.memory.checkpointGrants.filter((each) => each.digest === digest && each.principal === principal);
      // An operator grants what others brought.
      const granted = grants.flatMap(({ grantedBy }) => this.#brought(grantedBy, digest) ?? this.#allBrought(digest));
      const found = own ?? granted.sort(byAge)[0];
      if (found) usable.set(digest, { kind: found.kind, name: found.name });
    }
    return usable;
  }

  async findFirstBrought(digest: Digest): Promise<Usable | undefined> {
    const [first] = this.#allBrought(digest).sort(byAge);
    return first && { kind: first.kind, name: first.name };
  }

  async hasBrought(principal: string, digest: Digest): Promise<boolean> {
    return this.#brought(principal, digest) !== undefined;
  }

  async grant({ digest, principal, grantedBy }: Grant): Promise<StoredGrant> {
    const all = this.memory.checkpointGrants;
    const known = all.find((each) => each.digest === digest && each.principal === principal && each.grantedBy === grantedBy);
    if (known) return known;
    const given = { digest, principal, grantedBy, at: new Date(this.memory.now) };
    this.memory.checkpointGrants = [...all, given];
    return given;
  }

  async revoke(digest: Digest, principal: string, grantedBy?: string): Promise<readonly StoredGrant[]> {
    const isRevoked = (each: StoredGrant): boolean =>
      each.digest === digest && each.principal === principal && (grantedBy === undefined || each.grantedBy === grantedBy);
    const revoked = this.memory.checkpointGrants.filter(isRevoked);
    this.memory.checkpointGrants = this.memory.checkpointGrants.filter((each) => !isRevoked(each));
    return sorted(revoked);
  }

  async listGrants(digest: Digest, limit: number, grantedBy?: string): Promise<readonly StoredGrant[]> {
    const isAsked = (each: StoredGrant): boolean => each.digest === digest && (grantedBy === undefined || each.grantedBy === grantedBy);
    return sorted(this.memory.checkpointGrants.filter(isAsked)).slice(0, limit);
  }

  #allBrought(digest: Digest): HeldCheckpoint[] {
    return this.memory.broughtCheckpoints.filter((each) => each.digest === digest);
  }

  #brought(principal: string, digest: Digest): HeldCheckpoint | undefined {
    return this.memory.broughtCheckpoints.find((each) => each.principal === principal && each.digest === digest);
  }
}

type HeldCheckpoint = Memory['broughtCheckpoints'][number];

function byAge(a: HeldCheckpoint, b: HeldCheckpoint): number {
  return a.at - b.at || compared(a.principal, b.principal);
}

function sorted(grants: readonly StoredGrant[]): readonly StoredGrant[] {
  return [...grants].sort((a, b) =>
    a.principal === b.principal ? compared(a.grantedBy, b.grantedBy) : compared(a.principal, b.principal),
  );
}

function compared(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
