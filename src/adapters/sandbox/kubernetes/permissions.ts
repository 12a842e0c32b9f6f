import type { PodTemplate, PodTransport } from './settings/pod-template.ts';
import { GROUP } from './claims/agent-sandbox.ts';

export interface Permission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}

/** Lists the permissions that only one transport needs. */
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

const listClaimPermissions = (resource: string, verbs: readonly string[]): readonly Permission[] =>
  verbs.map((verb) => ({ verb, group: GROUP, resource }));

/** Permissions to use pods from an operator's warm pool. Muster lists pools and templates to sweep its own. */
export const CLAIM_PERMISSIONS: readonly Permission[] = [
  ...COMMON,
  ...EXEC,
  ...listClaimPermissions('sandboxclaims', ['create', 'get', 'list', 'watch', 'delete', 'deletecollection']),
  ...listClaimPermissions('sandboxwarmpools', ['get', 'list']),
  ...listClaimPermissions('sandboxtemplates', ['get', 'list']),
];

/** Permissions to use pods from a warm pool that Muster makes. */
export const POOL_PERMISSIONS: readonly Permission[] = [
  ...CLAIM_PERMISSIONS,
  ...listClaimPermissions('sandboxwarmpools', ['create', 'delete', 'deletecollection']),
  ...listClaimPermissions('sandboxtemplates', ['create', 'delete', 'deletecollection']),
];

/** Lists the permissions that Muster needs for a template's sandboxes. deploy/kubernetes grants those of all templates, as a test checks. */
export function listPermissions({ claims, transport }: Pick<PodTemplate, 'claims' | 'transport'>): readonly Permission[] {
  if (claims === undefined) return [...MADE, ...OF_TRANSPORT[transport.kind]];
  return 'warmPool' in claims ? CLAIM_PERMISSIONS : POOL_PERMISSIONS;
}
