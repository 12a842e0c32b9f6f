import { z } from 'zod';
import { InfrastructureError, InputError } from '../../../kernel/errors.ts';
import type { PodTemplate } from '../../../pool/pod-template.ts';
import type { SandboxTemplate } from '../../../pool/template.ts';
import { isNotFound, refusalOf } from './api-errors.ts';
import { withSignal, type Cluster } from './cluster.ts';
import { NETWORK } from './pod-labels.ts';

interface Permission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}

/** All that Muster does in a namespace: what deploy/kubernetes/rbac.yaml allows, and a test holds the two together. */
export const PERMISSIONS: readonly Permission[] = [
  ...['create', 'get', 'list', 'watch', 'delete', 'deletecollection'].map((verb) => ({ verb, group: '', resource: 'pods' })),
  ...['create', 'get'].map((verb) => ({ verb, group: '', resource: 'pods', subresource: 'exec' })),
  ...['create', 'list', 'patch', 'delete'].map((verb) => ({ verb, group: 'coordination.k8s.io', resource: 'leases' })),
  { verb: 'list', group: 'networking.k8s.io', resource: 'networkpolicies' },
];

/** What it does where the caches of the nodes are: deploy/kubernetes/node-cache/rbac.yaml. */
export const CACHE_PERMISSIONS: readonly Permission[] = [
  { verb: 'list', group: '', resource: 'pods' },
  ...['create', 'get'].map((verb) => ({ verb, group: '', resource: 'pods', subresource: 'exec' })),
];

/** A server that does not answer at all is told of soon: nothing is under way yet that patience would save. */
const FIRST_RETRIES = 1;

const DEPLOY = 'deploy/kubernetes';

/**
 * Finds out whether sandboxes of the template can be made, before any is.
 *
 * @throws InputError `kubernetes.unauthorized`, `kubernetes.no-namespace`, `kubernetes.forbidden`, `kubernetes.no-network-policy`,
 * `kubernetes.no-runtime-class`; InfrastructureError `kubernetes.unreachable`. Each names the remedy.
 */
export async function preflight(cluster: Cluster, pod: PodTemplate, signal: AbortSignal): Promise<void> {
  await assertNamespace(cluster, signal);
  await assertPermissions(cluster, cluster.namespace, PERMISSIONS, signal);
  const caches = pod.fetching?.nodeCache;
  if (caches) await assertPermissions(cluster, caches.namespace, CACHE_PERMISSIONS, signal);
  if (pod.network !== 'cluster') await assertNetworkPolicy(cluster, pod.network, signal);
  if (pod.runtimeClassName !== undefined) await assertRuntimeClass(cluster, pod.runtimeClassName, signal);
}

/** Whoever may not look at namespaces is asked for permissions in it all the same, and told of it there. */
async function assertNamespace(cluster: Cluster, signal: AbortSignal): Promise<void> {
  const { namespace, gate, core } = cluster;
  const found = await gate.request(
    `get the namespace ${namespace}`,
    signal,
    async (attemptSignal) => {
      try {
        await core.readNamespace({ name: namespace }, withSignal(attemptSignal));
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        if (refusalOf(error)?.code === 403) return true;
        throw error;
      }
    },
    FIRST_RETRIES,
  );
  if (found) return;
  const remedy = `kubectl create namespace ${namespace}, then kubectl apply -n ${namespace} -f ${DEPLOY}; or set kubernetes.namespace`;
  throw new InputError('kubernetes.no-namespace', `the cluster has no namespace "${namespace}": ${remedy}`);
}

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

async function assertPermissions(
  cluster: Cluster,
  namespace: string,
  permissions: readonly Permission[],
  signal: AbortSignal,
): Promise<void> {
  const answers = await Promise.all(
    permissions.map(async (permission) => ({ permission, isAllowed: await may(cluster, namespace, permission, signal) })),
  );
  const missing = answers.filter(({ isAllowed }) => !isAllowed).map(({ permission }) => ruleText(permission));
  if (missing.length === 0) return;
  const problem = `Muster may not do all that it needs in the namespace "${namespace}"; missing from its Role: ${missing.join('; ')}`;
  const file = permissions === CACHE_PERMISSIONS ? 'node-cache' : 'rbac.yaml';
  throw new InputError('kubernetes.forbidden', `${problem}. Apply ${DEPLOY}/${file}, or add these rules`);
}

async function may(
  cluster: Cluster,
  namespace: string,
  { verb, group, resource, subresource }: Permission,
  signal: AbortSignal,
): Promise<boolean> {
  const attributes = { namespace, verb, group, resource, ...(subresource === undefined ? {} : { subresource }) };
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes: attributes } };
  const review = await cluster.gate.request('review the permissions', signal, (attemptSignal) =>
    cluster.authorization.createSelfSubjectAccessReview({ body }, withSignal(attemptSignal)),
  );
  return reviewSchema.parse(review).status.allowed;
}

function ruleText({ verb, group, resource, subresource }: Permission): string {
  const name = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `apiGroups: ["${group}"], resources: ["${name}"], verbs: ["${verb}"]`;
}

const policySchema = z.object({
  spec: z.object({
    podSelector: z.object({ matchLabels: z.record(z.string(), z.string()).default({}) }).prefault({}),
    policyTypes: z.array(z.string()).default([]),
    egress: z.array(z.object({ to: z.array(z.unknown()).default([]) })).default([]),
  }),
});

type DeniedNetwork = Exclude<PodTemplate['network'], 'cluster'>;

/** What a policy has to do for a template, and the file that has one. */
const POLICIES: Readonly<Record<DeniedNetwork, { readonly effect: string; readonly file: string }>> = {
  none: { effect: "denies egress to Muster's pods", file: 'network-policy.yaml' },
  origin: { effect: "bounds the egress of Muster's pods to where checkpoints are fetched from", file: 'origin-policy.yaml' },
};

/** A policy that selects what is labelled so, and nothing that it would have to be labelled with besides. */
async function assertNetworkPolicy(cluster: Cluster, network: DeniedNetwork, signal: AbortSignal): Promise<void> {
  const policies = await cluster.gate.request('list the network policies', signal, (attemptSignal) =>
    cluster.networking.listNamespacedNetworkPolicy({ namespace: cluster.namespace }, withSignal(attemptSignal)),
  );
  const labels: Readonly<Record<string, string>> = { 'app.kubernetes.io/managed-by': 'muster', [NETWORK]: network };
  const isThere = policies.items.some((item) => {
    const { podSelector, policyTypes, egress } = policySchema.parse(item).spec;
    const matches = Object.entries(podSelector.matchLabels).every(([name, value]) => labels[name] === value);
    return matches && policyTypes.includes('Egress') && isBounded(network, egress);
  });
  if (isThere) return;
  const { effect, file } = POLICIES[network];
  const problem = `the template has kubernetes.network: ${network}, but no NetworkPolicy in "${cluster.namespace}" ${effect}`;
  throw new InputError('kubernetes.no-network-policy', `${problem}: kubectl apply -n ${cluster.namespace} -f ${DEPLOY}/${file}`);
}

/** A rule that names no destination allows all of them. */
function isBounded(network: DeniedNetwork, egress: readonly { readonly to: readonly unknown[] }[]): boolean {
  switch (network) {
    case 'none':
      return egress.length === 0;
    case 'origin':
      return egress.every(({ to }) => to.length > 0);
  }
}

async function assertRuntimeClass(cluster: Cluster, name: string, signal: AbortSignal): Promise<void> {
  const found = await cluster.gate.request(`get the runtime class ${name}`, signal, async (attemptSignal) => {
    try {
      await cluster.node.readRuntimeClass({ name }, withSignal(attemptSignal));
      return true;
    } catch (error) {
      // Runtime classes belong to the cluster: a Role in a namespace cannot allow to look at them, and pods say it soon enough.
      if (refusalOf(error)?.code === 403) return true;
      if (isNotFound(error)) return false;
      throw error;
    }
  });
  if (found) return;
  throw new InputError(
    'kubernetes.no-runtime-class',
    `the cluster has no runtime class "${name}"; set kubernetes.runtimeClassName to one that it has, or leave it away`,
  );
}

/** @throws InfrastructureError when the template says nothing of pods: it was made for another provider. */
export function podOf({ name, pod }: SandboxTemplate): PodTemplate {
  if (pod) return pod;
  throw new InfrastructureError('template.no-pod', `template "${name}" does not say what its pods are made of`);
}
