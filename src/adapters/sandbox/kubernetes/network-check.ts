import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import type { PodTemplate } from './settings/pod-template.ts';
import { withSignal, type Cluster } from './cluster/cluster.ts';

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

/** How the policies must treat a template's pods, and the file that has such a policy. */
interface Bound {
  readonly effect: string;
  readonly file: string;
  readonly holds: (egress: Policy['spec']['egress']) => boolean;
}

const NOTHING: Bound = { effect: "denies egress to Muster's pods", file: 'network-policy.yaml', holds: (egress) => egress.length === 0 };
/** A rule that names no destination allows all of them. */
const ORIGIN: Bound = {
  effect: "bounds the egress of Muster's pods to where checkpoints are fetched from",
  file: 'origin-policy.yaml',
  holds: (egress) => egress.every(({ to }) => to.length > 0),
};
const MUSTER: Bound = {
  effect: "bounds the egress of Muster's pods to where they dial back to",
  file: 'dial-back.yaml',
  holds: (egress) => egress.every(({ to, ports }) => to.length > 0 && ports.length > 0),
};

function findBound({ network, transport }: Pick<PodTemplate, 'network' | 'transport'>): Bound {
  if (network === 'origin') return ORIGIN;
  return transport.kind === 'dial-back' ? MUSTER : NOTHING;
}

/**
 * Policies are cumulative: pods reach no more than allowed when one policy limits their egress and none allows more.
 *
 * @param labels that the pods certainly have. @throws InputError `kubernetes.no-network-policy`
 */
export async function assertNetworkPolicy(
  cluster: Cluster,
  labels: Labels,
  pod: Pick<PodTemplate, 'network' | 'transport'>,
  signal: AbortSignal,
): Promise<void> {
  const { items } = await cluster.gate.request('list the network policies', signal, (attemptSignal) =>
    cluster.networking.listNamespacedNetworkPolicy({ namespace: cluster.namespace }, withSignal(attemptSignal)),
  );
  const about = items.map((item) => policySchema.parse(item)).filter((policy) => isSelecting(policy, labels));
  const egress = about.filter(({ spec }) => spec.policyTypes.includes('Egress'));
  const bound = findBound(pod);
  const open = egress.find(({ spec }) => !bound.holds(spec.egress));
  if (egress.length > 0 && open === undefined) return;
  throw createMissingPolicyError(cluster.namespace, pod.network, open, bound);
}

function createMissingPolicyError(namespace: string, network: string, open: Policy | undefined, { effect, file }: Bound): InputError {
  const wish = `the template has kubernetes.network: ${network}, but`;
  if (open !== undefined) {
    const problem = `${wish} the NetworkPolicy "${open.metadata.name}" in "${namespace}" allows Muster's pods connections`;
    return new InputError('kubernetes.no-network-policy', `${problem}: have it select others, or set kubernetes.network: cluster`);
  }
  const problem = `${wish} no NetworkPolicy in "${namespace}" ${effect}`;
  const remedy = `kubectl apply -n ${namespace} -f deploy/kubernetes/${file}`;
  return new InputError('kubernetes.no-network-policy', `${problem}: ${remedy}`);
}

function isSelecting({ spec: { podSelector } }: Policy, labels: Labels): boolean {
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
