import { Refusal } from './api-objects.ts';
import type { ApiPath } from './api-path.ts';

/** As in a Role. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

export interface Identity {
  readonly user: string;
  readonly rules: readonly Rule[];
}

export const ADMIN: Identity = { user: 'admin', rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] };

export type Attributes = Pick<ApiPath, 'group' | 'resource' | 'subresource'> & { readonly verb: string };

/** Everybody may ask what they may do. */
const OPEN_TO_ALL = 'selfsubjectaccessreviews';

export function mayDo({ rules }: Identity, { group, resource, subresource, verb }: Attributes): boolean {
  const name = subresource === undefined ? resource : `${resource}/${subresource}`;
  return rules.some((rule) => includes(rule.apiGroups, group) && includes(rule.resources, name) && includes(rule.verbs, verb));
}

export function assertMayDo(identity: Identity, attributes: Attributes, namespace: string | undefined): void {
  if (attributes.resource === OPEN_TO_ALL || mayDo(identity, attributes)) return;
  const { verb, resource, subresource, group } = attributes;
  const name = subresource === undefined ? resource : `${resource}/${subresource}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const text = `${resource} is forbidden: User "${identity.user}" cannot ${verb} resource "${name}" in API group "${group}" ${where}`;
  throw new Refusal(403, 'Forbidden', text);
}

function includes(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}
