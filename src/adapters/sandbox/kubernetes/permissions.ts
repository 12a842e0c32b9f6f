import type { PodTemplate, PodTransport } from './settings/pod-template.ts';
import { GROUP } from './claims/agent-sandbox.ts';

export interface Permission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}

/** What only one transport needs. */
const listStreamPermissions = (subresource: string): readonly Permission[] =>
  ['create', 'get'].map((verb) => ({ verb, group: '', resource: 'pods', subresource }));
const EXEC = listStreamPermissions('exec');
const ATTACH = listStreamPermissions('attach');
const OF_TRANSPORT: Readonly<Record<PodTransport['kind'], readonly Permission[]>> = {
  exec: EXEC,
  attach: [...EXEC, ...ATTACH],
  'dial-back': [],
};

const COMMON: readonly Permission[] = [
  ...['get', 'list', 'watch', 'delete'].map((verb) => ({ verb, group: '', resource: 'pods' })),
  ...['create', 'list', 'patch', 'delete'].map((verb) => ({ verb, group: 'coordination.k8s.io', resource: 'leases' })),
  { verb: 'list', group: 'networking.k8s.io', resource: 'networkpolicies' },
];

const MADE: readonly Permission[] = [...COMMON, ...['create', 'deletecollection'].map((verb) => ({ verb, group: '', resource: 'pods' }))];

/** All permissions of Muster in a namespace where it makes pods: those of deploy/kubernetes/rbac.yaml, as a test checks. */
export const PERMISSIONS: readonly Permission[] = [...MADE, ...EXEC, ...ATTACH];

const listClaimPermissions = (resource: string, verbs: readonly string[]): readonly Permission[] =>
  verbs.map((verb) => ({ verb, group: GROUP, resource }));

/** The same where it claims them from an operator's warm pool; of pools and templates it only looks for its own to sweep. */
export const CLAIM_PERMISSIONS: readonly Permission[] = [
  ...COMMON,
  ...EXEC,
  ...listClaimPermissions('sandboxclaims', ['create', 'get', 'list', 'watch', 'delete', 'deletecollection']),
  ...listClaimPermissions('sandboxwarmpools', ['get', 'list']),
  ...listClaimPermissions('sandboxtemplates', ['get', 'list']),
];

/** The same where it makes a warm pool of its own. */
export const POOL_PERMISSIONS: readonly Permission[] = [
  ...CLAIM_PERMISSIONS,
  ...listClaimPermissions('sandboxwarmpools', ['create', 'delete', 'deletecollection']),
  ...listClaimPermissions('sandboxtemplates', ['create', 'delete', 'deletecollection']),
];

/** What a template's sandboxes need. */
export function listPermissions({ claims, transport }: PodTemplate): readonly Permission[] {
  if (claims === undefined) return [...MADE, ...OF_TRANSPORT[transport.kind]];
  return 'warmPool' in claims ? CLAIM_PERMISSIONS : POOL_PERMISSIONS;
}
