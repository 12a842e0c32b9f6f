import { z } from 'zod';
import { InfrastructureError, InputError } from '../../../kernel/errors.ts';
import type { PodTemplate, PodTransport } from '../../../pool/pod-template.ts';
import type { SandboxTemplate } from '../../../pool/template.ts';
import { isNotFound, refusalOf } from './api-errors.ts';
import { withSignal, type Cluster } from './cluster.ts';
import { MANAGED_BY, NETWORK, networkLabel } from './pod-labels.ts';

interface Permission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}

/** What only one transport needs. */
const TRANSPORT_PERMISSIONS: Readonly<Record<PodTransport['kind'], readonly Permission[]>> = {
  exec: ['create', 'get'].map((verb) => ({ verb, group: '', resource: 'pods', subresource: 'exec' })),
  'dial-back': [],
};

/** What Muster does in a namespace whatever the transport. */
const COMMON_PERMISSIONS: readonly Permission[] = [
  ...['create', 'get', 'list', 'watch', 'delete', 'deletecollection'].map((verb) => ({ verb, group: '', resource: 'pods' })),
  ...['create', 'list', 'patch', 'delete'].map((verb) => ({ verb, group: 'coordination.k8s.io', resource: 'leases' })),
  { verb: 'list', group: 'networking.k8s.io', resource: 'networkpolicies' },
];

/** All of it: what deploy/kubernetes/rbac.yaml allows, and a test holds the two together. */
export const PERMISSIONS: readonly Permission[] = [...COMMON_PERMISSIONS, ...Object.values(TRANSPORT_PERMISSIONS).flat()];

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
  await assertPermissions(cluster, [...COMMON_PERMISSIONS, ...TRANSPORT_PERMISSIONS[pod.transport.kind]], signal);
  if (pod.network === 'none') await assertNetworkPolicy(cluster, pod.transport, signal);
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

async function assertPermissions(cluster: Cluster, permissions: readonly Permission[], signal: AbortSignal): Promise<void> {
  const answers = await Promise.all(
    permissions.map(async (permission) => ({ permission, isAllowed: await may(cluster, permission, signal) })),
  );
  const missing = answers.filter(({ isAllowed }) => !isAllowed).map(({ permission }) => ruleText(permission));
  if (missing.length === 0) return;
  const problem = `Muster may not do all that it needs in the namespace "${cluster.namespace}"; missing from its Role: ${missing.join('; ')}`;
  throw new InputError('kubernetes.forbidden', `${problem}. Apply ${DEPLOY}/rbac.yaml, or add these rules`);
}

async function may(cluster: Cluster, { verb, group, resource, subresource }: Permission, signal: AbortSignal): Promise<boolean> {
  const attributes = { namespace: cluster.namespace, verb, group, resource, ...(subresource === undefined ? {} : { subresource }) };
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
    egress: z.array(z.object({ to: z.array(z.unknown()).default([]), ports: z.array(z.unknown()).default([]) })).default([]),
  }),
});
type Egress = z.infer<typeof policySchema>['spec']['egress'];

/** What a policy has to be like, for the network that the pods are labelled with. */
const POLICIES: Readonly<
  Record<PodTransport['kind'], { readonly isEnough: (egress: Egress) => boolean; readonly missing: string; readonly file: string }>
> = {
  exec: { isEnough: (egress) => egress.length === 0, missing: "denies egress to Muster's pods", file: 'network-policy.yaml' },
  'dial-back': {
    isEnough: (egress) => egress.length > 0 && egress.every(({ to, ports }) => to.length > 0 && ports.length > 0),
    missing: "allows Muster's pods that dial back egress to named places and ports only",
    file: 'dial-back.yaml',
  },
};

/** A policy that bounds egress of what is labelled so, and no more than what is labelled so needs to match. */
async function assertNetworkPolicy(cluster: Cluster, { kind }: PodTransport, signal: AbortSignal): Promise<void> {
  const policies = await cluster.gate.request('list the network policies', signal, (attemptSignal) =>
    cluster.networking.listNamespacedNetworkPolicy({ namespace: cluster.namespace }, withSignal(attemptSignal)),
  );
  const { isEnough, missing, file } = POLICIES[kind];
  const labels: Readonly<Record<string, string>> = { [MANAGED_BY]: 'muster', [NETWORK]: networkLabel('none', kind) };
  const isFound = policies.items.some((item) => {
    const { podSelector, policyTypes, egress } = policySchema.parse(item).spec;
    const matches = Object.entries(podSelector.matchLabels).every(([name, value]) => labels[name] === value);
    return matches && policyTypes.includes('Egress') && isEnough(egress);
  });
  if (isFound) return;
  const problem = `the template has kubernetes.network: none, but no NetworkPolicy in "${cluster.namespace}" ${missing}`;
  const remedy = `kubectl apply -n ${cluster.namespace} -f ${DEPLOY}/${file}`;
  throw new InputError('kubernetes.no-network-policy', `${problem}: ${remedy}`);
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
