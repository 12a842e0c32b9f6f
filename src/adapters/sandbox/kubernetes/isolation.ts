import { InputError } from '../../../kernel/errors.ts';
import type { PodTemplate } from './settings/pod-template.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';

const CONTAINER = { scope: 'tree', by: 'container' } as const;

/** A policy is an object that any cluster keeps, also one whose network plugin does not heed it. */
function describeUnverifiedNetwork(network: PodTemplate['network']): string {
  return `not verified: the NetworkPolicy for kubernetes.network: ${network} exists, and Muster has not tried whether the cluster's network plugin enforces it (docs/kubernetes.md)`;
}

/** @throws InputError `template.limit-unavailable` for a demand that a pod cannot meet. */
export function describePodIsolation(template: SandboxTemplate, { runtimeClassName, network }: PodTemplate): Isolation {
  const isolation: Isolation = {
    mechanism: runtimeClassName === undefined ? 'kubernetes' : `kubernetes (${runtimeClassName})`,
    limits: {
      memory: CONTAINER,
      // How many processes a pod may have is the kubelet's setting (podPidsLimit), and no pod's.
      processes: { scope: 'none', by: 'none' },
      cpu: CONTAINER,
      disk: { scope: 'tree', by: 'tmpfs' },
      lifetime: { scope: 'tree', by: 'timer' },
    },
    ...(network === 'cluster' ? {} : { unverified: [describeUnverifiedNetwork(network)] }),
  };
  const missing = template.demands.find((demand) => isolation.limits[demand].scope !== 'tree');
  if (missing === undefined) return isolation;
  const problem = `template "${template.name}" demands the limit "${missing}", which a pod cannot be given`;
  throw new InputError('template.limit-unavailable', `${problem}: set podPidsLimit of the kubelets, and drop the demand`);
}
