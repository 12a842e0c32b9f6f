import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import { withSignal, type Cluster } from './cluster.ts';

const expressionSchema = z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).default([]) });
const policySchema = z.object({
  metadata: z.object({ name: z.string().default('') }).prefault({}),
  spec: z.object({
    podSelector: z
      .object({ matchLabels: z.record(z.string(), z.string()).default({}), matchExpressions: z.array(expressionSchema).default([]) })
      .prefault({}),
    policyTypes: z.array(z.string()).default([]),
    egress: z.array(z.unknown()).default([]),
  }),
});
type Policy = z.infer<typeof policySchema>;
type Labels = Readonly<Record<string, string>>;

/**
 * Policies add up: pods reach nothing when one denies egress to them and none allows any.
 *
 * @param labels that the pods have for certain.
 * @throws InputError `kubernetes.no-network-policy`
 */
export async function assertNoConnection(cluster: Cluster, labels: Labels, signal: AbortSignal): Promise<void> {
  const { items } = await cluster.gate.request('list the network policies', signal, (attemptSignal) =>
    cluster.networking.listNamespacedNetworkPolicy({ namespace: cluster.namespace }, withSignal(attemptSignal)),
  );
  const about = items.map((item) => policySchema.parse(item)).filter((policy) => selects(policy, labels));
  const egress = about.filter(({ spec }) => spec.policyTypes.includes('Egress'));
  const open = egress.find(({ spec }) => spec.egress.length > 0);
  if (egress.length > 0 && open === undefined) return;
  throw noPolicy(cluster.namespace, open);
}

function noPolicy(namespace: string, open: Policy | undefined): InputError {
  const wish = 'the template has kubernetes.network: none, but';
  if (open !== undefined) {
    const problem = `${wish} the NetworkPolicy "${open.metadata.name}" in "${namespace}" allows Muster's pods connections`;
    return new InputError('kubernetes.no-network-policy', `${problem}: have it select others, or set kubernetes.network: cluster`);
  }
  const problem = `${wish} no NetworkPolicy in "${namespace}" denies egress to Muster's pods`;
  const remedy = `kubectl apply -n ${namespace} -f deploy/kubernetes/network-policy.yaml`;
  return new InputError('kubernetes.no-network-policy', `${problem}: ${remedy}`);
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
