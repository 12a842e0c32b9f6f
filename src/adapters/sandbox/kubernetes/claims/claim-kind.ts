import type { FollowedObject } from '../cluster/followed-object.ts';
import type { ObjectKind } from '../cluster/object-kind.ts';
import type { OwnedObjects } from '../cluster/owned-objects.ts';
import type { AgentSandbox } from './agent-sandbox.ts';
import { readClaimState, parseClaim, type ClaimState, type ClaimView } from './claim-view.ts';

const CLAIMS = 'sandboxclaims';

export type Claims = OwnedObjects<ClaimView, ClaimState>;
export type FollowedClaim = FollowedObject<ClaimView, ClaimState>;

export function createClaimKind(api: AgentSandbox): ObjectKind<ClaimView, ClaimState> {
  return {
    what: 'claims',
    path: api.getPath(CLAIMS),
    parse: parseClaim,
    readState: readClaimState,
    list: (selector, signal) => api.list(CLAIMS, parseClaim, selector, signal),
    get: async (name, signal) => {
      const found = await api.get(CLAIMS, name, signal);
      return found === undefined ? undefined : parseClaim(found);
    },
    deleteOne: (name, signal) => api.delete(CLAIMS, name, signal),
    deleteMany: (selector, signal) => api.deleteAll(CLAIMS, selector, signal),
  };
}
