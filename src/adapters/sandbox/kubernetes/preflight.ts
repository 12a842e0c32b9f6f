import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import type { PodTemplate, ClaimSettings } from './settings/pod-template.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import { isNotFound, readRefusal } from './cluster/api-errors.ts';
import { type AgentSandbox, GROUP, getLabels, VERSION } from './claims/agent-sandbox.ts';
import { withSignal, type Cluster } from './cluster/cluster.ts';
import { assertNetworkPolicy } from './network-check.ts';
import { listPermissions, type Permission } from './permissions.ts';
import { createSharedPodLabels } from './cluster/pod-labels.ts';
import { createPodTemplate } from './claims/claim-manifest.ts';
import { readPodLabels, findShortcomings } from './claims/sandbox-template-check.ts';
import { readSandboxTemplate, TEMPLATE_HASH } from './claims/warm-pool.ts';

/** Permissions in the namespace of the nodes' caches: deploy/kubernetes/node-cache/rbac.yaml. */
export const CACHE_PERMISSIONS: readonly Permission[] = [
  { verb: 'list', group: '', resource: 'pods' },
  ...['create', 'get'].map((verb) => ({ verb, group: '', resource: 'pods', subresource: 'exec' })),
];

/** Gives up soon on a server that does not answer: nothing is under way yet that waiting would save. */
const FIRST_RETRIES = 1;

const DEPLOY = 'deploy/kubernetes';

/**
 * Finds out whether sandboxes of the template can be made, before any is.
 *
 * @throws InputError `kubernetes.unauthorized`, `kubernetes.no-namespace`, `kubernetes.forbidden`, `kubernetes.no-network-policy`,
 * `kubernetes.no-runtime-class`, and what `checkClaims` throws; InfrastructureError `kubernetes.unreachable`. Each names the remedy.
 */
export async function checkCluster(
  cluster: Cluster,
  claims: AgentSandbox,
  template: SandboxTemplate,
  pod: PodTemplate,
  signal: AbortSignal,
): Promise<void> {
  await assertNamespace(cluster, signal);
  await assertPermissions(
    cluster,
    cluster.namespace,
    listPermissions(pod),
    pod.claims === undefined ? 'rbac.yaml' : 'claims-rbac.yaml',
    signal,
  );
  const caches = pod.fetching?.nodeCache;
  if (caches) await assertPermissions(cluster, caches.namespace, CACHE_PERMISSIONS, 'node-cache', signal);
  const labels = pod.claims === undefined ? createSharedPodLabels(template) : await checkClaims(claims, template, pod, pod.claims, signal);
  if (pod.network !== 'cluster') await assertNetworkPolicy(cluster, labels, pod, signal);
  if (pod.runtimeClassName !== undefined) await assertRuntimeClass(cluster, pod.runtimeClassName, signal);
}

/** Without permission to read namespaces, the permissions in it are checked all the same, and that check reports a missing namespace. */
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
        if (readRefusal(error)?.code === 403) return true;
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
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const answers = await Promise.all(
    permissions.map(async (permission) => ({ permission, isAllowed: await may(cluster, namespace, permission, signal) })),
  );
  const missing = answers.filter(({ isAllowed }) => !isAllowed).map(({ permission }) => formatRule(permission));
  if (missing.length === 0) return;
  const problem = `Muster may not do all that it needs in the namespace "${namespace}"; missing from its Role: ${missing.join('; ')}`;
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

function formatRule({ verb, group, resource, subresource }: Permission): string {
  const name = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `apiGroups: ["${group}"], resources: ["${name}"], verbs: ["${verb}"]`;
}

async function assertRuntimeClass(cluster: Cluster, name: string, signal: AbortSignal): Promise<void> {
  const found = await cluster.gate.request(`get the runtime class ${name}`, signal, async (attemptSignal) => {
    try {
      await cluster.node.readRuntimeClass({ name }, withSignal(attemptSignal));
      return true;
    } catch (error) {
      // Runtime classes belong to the cluster: a Role in a namespace cannot allow reading them, and pods report a missing one soon enough.
      if (readRefusal(error)?.code === 403) return true;
      if (isNotFound(error)) return false;
      throw error;
    }
  });
  if (found) return;
  throw new InputError(
    'kubernetes.no-runtime-class',
    `the cluster has no runtime class "${name}"; set kubernetes.runtimeClassName to one that it has, or leave it out`,
  );
}

/**
 * Finds out whether pods of the template can be claimed, before any is.
 *
 * @returns labels that they have for certain.
 * @throws InputError `kubernetes.no-agent-sandbox`, `kubernetes.no-warm-pool`, `kubernetes.no-sandbox-template`, `template.sandbox-template`.
 */
async function checkClaims(
  api: AgentSandbox,
  template: SandboxTemplate,
  pod: PodTemplate,
  settings: ClaimSettings,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  if (!(await api.isInstalled(signal))) {
    const remedy = 'install it with its extensions, or leave out kubernetes.claims, and Muster makes pods itself';
    throw new InputError('kubernetes.no-agent-sandbox', `the cluster does not have agent-sandbox (no API ${GROUP}/${VERSION}): ${remedy}`);
  }
  if (!('warmPool' in settings)) return createSharedPodLabels(template);
  const { name, template: found } = await readSandboxTemplate(api, settings.warmPool, signal);
  const problems = findShortcomings(found, createPodTemplate(template, pod).spec, pod);
  if (problems.length > 0) {
    const text = `the SandboxTemplate "${name}" of kubernetes.claims.warmPool does not make the pods that template "${template.name}" describes`;
    const remedy = 'change one of the two; deploy/kubernetes/sandbox-template.yaml is an example';
    throw new InputError('template.sandbox-template', `${text}: ${problems.join('; ')}; ${remedy}`);
  }
  const hash = getLabels(found)[TEMPLATE_HASH];
  return { ...readPodLabels(found), ...(hash === undefined ? {} : { [TEMPLATE_HASH]: hash }) };
}
