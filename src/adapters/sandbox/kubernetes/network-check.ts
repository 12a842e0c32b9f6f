import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import type { PodTransport } from '../../../pool/pod-template.ts';
import { withSignal, type Cluster } from './cluster.ts';

const expressionSchema = z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).default([]) });
const policySchema = z.object({
  metadata: z.object({ name: z.string().default('') }).prefault({}),
  spec: z.object({
    podSelector: z
      .object({ matchLabels: z.record(z.string(), z.string()).default({}), matchExpressions: z.array(expressionSchema).default([]) })
      .prefault({}),
    policyTypes: z.array(z.string()).default([]),
    egress: z.array(z.object({ to: z.array(z.unknown()).default([]), ports: z.array(z.unknown()).default([]) })).default([]),
  }),
});
type Policy = z.infer<typeof policySchema>;
type Labels = Readonly<Record<string, string>>;

/** What the policies may leave open to pods: nothing, or, where pods dial back, named places and ports, which are Muster's. */
const MAY_BE_OPEN: Readonly<Record<PodTransport['kind'], (egress: Policy['spec']['egress']) => boolean>> = {
  exec: (egress) => egress.length === 0,
  'dial-back': (egress) => egress.every(({ to, ports }) => to.length > 0 && ports.length > 0),
};
const POLICY_FILES: Readonly<Record<PodTransport['kind'], string>> = { exec: 'network-policy.yaml', 'dial-back': 'dial-back.yaml' };

/**
 * Policies add up: pods reach nothing when one denies egress to them and none allows any.
 *
 * @param labels that the pods have for certain.
 * @throws InputError `kubernetes.no-network-policy`
 */
export async function assertNetworkPolicy(
  cluster: Cluster,
  labels: Labels,
  transport: PodTransport['kind'],
  signal: AbortSignal,
): Promise<void> {
  const { items } = await cluster.gate.request('list the network policies', signal, (attemptSignal) =>
    cluster.networking.listNamespacedNetworkPolicy({ namespace: cluster.namespace }, withSignal(attemptSignal)),
  );
  const about = items.map((item) => policySchema.parse(item)).filter((policy) => selects(policy, labels));
  const egress = about.filter(({ spec }) => spec.policyTypes.includes('Egress'));
  const open = egress.find(({ spec }) => !MAY_BE_OPEN[transport](spec.egress));
  if (egress.length > 0 && open === undefined) return;
  throw noPolicy(cluster.namespace, open, POLICY_FILES[transport]);
}

function noPolicy(namespace: string, open: Policy | undefined, file: string): InputError {
  const wish = 'the template has kubernetes.network: none, but';
  if (open !== undefined) {
    const problem = `${wish} the NetworkPolicy "${open.metadata.name}" in "${namespace}" allows Muster's pods connections`;
    return new InputError('kubernetes.no-network-policy', `${problem}: have it select others, or set kubernetes.network: cluster`);
  }
  const problem = `${wish} no NetworkPolicy in "${namespace}" bounds the egress of Muster's pods`;
  const remedy = `kubectl apply -n ${namespace} -f deploy/kubernetes/${file}`;
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
