import type { PodTemplate } from '../../../pool/pod-template.ts';
import { GROUP } from './claims/agent-sandbox.ts';

export interface Permission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}

const COMMON: readonly Permission[] = [
  ...['get', 'list', 'watch', 'delete'].map((verb) => ({ verb, group: '', resource: 'pods' })),
  ...['create', 'get'].map((verb) => ({ verb, group: '', resource: 'pods', subresource: 'exec' })),
  ...['create', 'list', 'patch', 'delete'].map((verb) => ({ verb, group: 'coordination.k8s.io', resource: 'leases' })),
  { verb: 'list', group: 'networking.k8s.io', resource: 'networkpolicies' },
];

/** All that Muster does in a namespace where it makes pods: what deploy/kubernetes/rbac.yaml allows, and a test holds the two together. */
export const PERMISSIONS: readonly Permission[] = [
  ...COMMON,
  ...['create', 'deletecollection'].map((verb) => ({ verb, group: '', resource: 'pods' })),
];

const claimed = (resource: string, verbs: readonly string[]): readonly Permission[] =>
  verbs.map((verb) => ({ verb, group: GROUP, resource }));

/** The same where it claims them from a warm pool that somebody else has made; of pools and templates it only looks for its own to sweep. */
export const CLAIM_PERMISSIONS: readonly Permission[] = [
  ...COMMON,
  ...claimed('sandboxclaims', ['create', 'get', 'list', 'watch', 'delete', 'deletecollection']),
  ...claimed('sandboxwarmpools', ['get', 'list']),
  ...claimed('sandboxtemplates', ['get', 'list']),
];

/** The same where it makes a warm pool of its own. */
export const POOL_PERMISSIONS: readonly Permission[] = [
  ...CLAIM_PERMISSIONS,
  ...claimed('sandboxwarmpools', ['create', 'delete', 'deletecollection']),
  ...claimed('sandboxtemplates', ['create', 'delete', 'deletecollection']),
];

/** What Muster does where the caches of the nodes are: deploy/kubernetes/node-cache/rbac.yaml. */
export const CACHE_PERMISSIONS: readonly Permission[] = [
  { verb: 'list', group: '', resource: 'pods' },
  ...['create', 'get'].map((verb) => ({ verb, group: '', resource: 'pods', subresource: 'exec' })),
];

/** What a template's sandboxes need, and the file in deploy/kubernetes that allows it. */
export function roleOf({ claims }: PodTemplate): { readonly permissions: readonly Permission[]; readonly file: string } {
  if (claims === undefined) return { permissions: PERMISSIONS, file: 'rbac.yaml' };
  if ('warmPool' in claims) return { permissions: CLAIM_PERMISSIONS, file: 'claims-rbac.yaml' };
  return { permissions: POOL_PERMISSIONS, file: 'claims-rbac.yaml and own-pool-rbac.yaml' };
}
