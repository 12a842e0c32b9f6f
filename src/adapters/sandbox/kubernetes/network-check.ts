import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import type { PodTemplate } from '../../../pool/pod-template.ts';
import { withSignal, type Cluster } from './cluster.ts';

const expressionSchema = z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).default([]) });
const policySchema = z.object({
  metadata: z.object({ name: z.string().default('') }).prefault({}),
  spec: z.object({
    podSelector: z
      .object({ matchLabels: z.record(z.string(), z.string()).default({}), matchExpressions: z.array(expressionSchema).default([]) })
      .prefault({}),
    policyTypes: z.array(z.string()).default([]),
    egress: z.array(z.object({ to: z.array(z.unknown()).default([]) })).default([]),
  }),
});
type Policy = z.infer<typeof policySchema>;
type Labels = Readonly<Record<string, string>>;
type BoundedNetwork = Exclude<PodTemplate['network'], 'cluster'>;

/** What a policy has to do for a template, and the file that has one. */
const POLICIES: Readonly<Record<BoundedNetwork, { readonly effect: string; readonly file: string }>> = {
  none: { effect: "denies egress to Muster's pods", file: 'network-policy.yaml' },
  origin: { effect: "bounds the egress of Muster's pods to where checkpoints are fetched from", file: 'origin-policy.yaml' },
};

/**
 * Policies add up: what pods reach is bounded when one policy is for them, and none allows more than the template.
 *
 * @param labels that the pods have for certain.
 * @throws InputError `kubernetes.no-network-policy`
 */
export async function assertBounded(cluster: Cluster, network: BoundedNetwork, labels: Labels, signal: AbortSignal): Promise<void> {
  const { items } = await cluster.gate.request('list the network policies', signal, (attemptSignal) =>
    cluster.networking.listNamespacedNetworkPolicy({ namespace: cluster.namespace }, withSignal(attemptSignal)),
  );
  const about = items.map((item) => policySchema.parse(item)).filter((policy) => selects(policy, labels));
  const egress = about.filter(({ spec }) => spec.policyTypes.includes('Egress'));
  const open = egress.find((policy) => !isBounded(network, policy));
  if (egress.length > 0 && open === undefined) return;
  throw noPolicy(cluster.namespace, network, open);
}

function noPolicy(namespace: string, network: BoundedNetwork, open: Policy | undefined): InputError {
  const { effect, file } = POLICIES[network];
  const wish = `the template has kubernetes.network: ${network}, but`;
  if (open !== undefined) {
    const problem = `${wish} the NetworkPolicy "${open.metadata.name}" in "${namespace}" allows Muster's pods more`;
    return new InputError('kubernetes.no-network-policy', `${problem}: have it select others, or set kubernetes.network: cluster`);
  }
  const remedy = `kubectl apply -n ${namespace} -f deploy/kubernetes/${file}`;
  return new InputError('kubernetes.no-network-policy', `${wish} no NetworkPolicy in "${namespace}" ${effect}: ${remedy}`);
}

/** A rule that names no destination allows all of them. */
function isBounded(network: BoundedNetwork, { spec: { egress } }: Policy): boolean {
  switch (network) {
    case 'none':
      return egress.length === 0;
    case 'origin':
      return egress.every(({ to }) => to.length > 0);
  }
}

function selects({ spec: { podSelector } }: Policy, labels: Labels): boolean {
  const { matchLabels, matchExpressions } = podSelector;
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      switch (operator) {
        case 'In':
          return values.includes(labels[key] ?? '');
        case 'NotIn':
          return !values.includes(labels[key] ?? '');
        case 'Exists':
          return key in labels;
        default:
          return !(key in labels);
      }
    })
  );
}
