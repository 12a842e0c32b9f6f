import type { V1PodSpec } from '@kubernetes/client-node';
import { formatCanonicalJson, digestBytes } from '../../../../kernel/canonical-json.ts';
import type { OwnerId } from '../../../../kernel/ids.ts';
import type { PodTemplate } from '../settings/pod-template.ts';
import type { SandboxSpec } from '../../../../pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../../../../pool/ports/template.ts';
import { createOwnerLabels, createPodLabels, namePod, createSharedPodLabels } from '../cluster/pod-labels.ts';
import { createPodSpec } from '../pods/pod-manifest.ts';
import type { Manifest } from './agent-sandbox.ts';

const API_VERSION = 'extensions.agents.x-k8s.io/v1beta1';
/** How long a claim may wait for its pod, and its pod for its image, beyond the time for room on a node, before its lifetime begins. */
const START_SECONDS = 600;
/** How long an ended pod stays for its Muster to read. */
const FINISHED_SECONDS = 60;
/** This many characters of a digest distinguish the templates of one owner. */
const DIGEST_CHARACTERS = 12;

export interface ClaimOptions {
  readonly owner: OwnerId;
  readonly warmPool: string;
  /** The API server's time, in milliseconds since 1970. */
  readonly serverTime: number;
}

/** Creates one sandbox's claim. It ends by itself when its Muster is gone: it states its end for the controller. Pure. */
export function createClaimManifest(
  { id, template }: SandboxSpec,
  pod: PodTemplate,
  { owner, warmPool, serverTime }: ClaimOptions,
): Manifest {
  const seconds = pod.unschedulableSeconds + START_SECONDS + template.limits.lifetimeSeconds;
  return {
    apiVersion: API_VERSION,
    kind: 'SandboxClaim',
    metadata: { name: namePod(owner, id), namespace: pod.namespace, labels: createPodLabels(owner, id, template) },
    spec: {
      warmPoolRef: { name: warmPool },
      lifecycle: {
        shutdownTime: new Date(serverTime + seconds * 1000).toISOString(),
        shutdownPolicy: 'Delete',
        ttlSecondsAfterFinished: FINISHED_SECONDS,
      },
    },
  };
}

/** Creates the SandboxTemplate's pods. They have no owner before they are claimed, and no deadline: a warm pod may wait for long. Pure. */
export function createPodTemplate(
  template: SandboxTemplate,
  pod: PodTemplate,
): { readonly metadata: { readonly labels: Readonly<Record<string, string>> }; readonly spec: V1PodSpec } {
  const { activeDeadlineSeconds: _claimed, ...spec } = createPodSpec(template, pod);
  return { metadata: { labels: createSharedPodLabels(template) }, spec };
}

/** Returns the name of an owner's SandboxTemplate and SandboxWarmPool for a template. Templates that make the same pods share them. */
export function nameOwnPool(owner: OwnerId, template: SandboxTemplate, pod: PodTemplate): string {
  const digest = digestBytes(formatCanonicalJson([createPodTemplate(template, pod), pod.claims]));
  return `${owner}-${digest.slice('sha256:'.length, 'sha256:'.length + DIGEST_CHARACTERS)}`;
}

export function createSandboxTemplateManifest(name: string, owner: OwnerId, template: SandboxTemplate, pod: PodTemplate): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'SandboxTemplate',
    metadata: { name, namespace: pod.namespace, labels: createOwnerLabels(owner, template) },
    spec: { podTemplate: createPodTemplate(template, pod), ...createNetworkPolicy(pod) },
  };
}

/** No rule is no connection. What the controller does by default allows the whole internet. */
function createNetworkPolicy({ network }: PodTemplate): object {
  switch (network) {
    case 'none':
      return { networkPolicyManagement: 'Managed', networkPolicy: {} };
    // The policy of deploy/kubernetes/origin-policy.yaml is for all pods that are labelled so.
    case 'origin':
    case 'cluster':
      return { networkPolicyManagement: 'Unmanaged' };
  }
}

export function createWarmPoolManifest(
  name: string,
  replicas: number,
  owner: OwnerId,
  template: SandboxTemplate,
  pod: PodTemplate,
): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'SandboxWarmPool',
    metadata: { name, namespace: pod.namespace, labels: createOwnerLabels(owner, template) },
    spec: { replicas, sandboxTemplateRef: { name } },
  };
}
