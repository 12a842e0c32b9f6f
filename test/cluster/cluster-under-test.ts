import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { dependent } from '../../scripts/dependent-process.ts';
import { AgentSandbox } from '../../src/adapters/sandbox/kubernetes/claims/agent-sandbox.ts';
import { parseClaim } from '../../src/adapters/sandbox/kubernetes/claims/claim-view.ts';
import { Cluster } from '../../src/adapters/sandbox/kubernetes/cluster/cluster.ts';
import { MANAGED_SELECTOR, OWNER } from '../../src/adapters/sandbox/kubernetes/cluster/pod-labels.ts';
import { readPodState, type PodView } from '../../src/adapters/sandbox/kubernetes/cluster/pod-view.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import type { DialBackSettings, PodTemplate } from '../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import { NEVER } from '../contract/sandbox-fixture.ts';
import { podTemplate } from '../support/kubernetes/kubernetes-context.ts';

/** What is said about the cluster by environment variables; docs/kubernetes.md explains them. */
const environmentSchema = z.object({
  /** `npm run test:cluster` sets it: no other test speaks to a cluster, whatever else is set. */
  MUSTER_TEST_CLUSTER: z.string().optional(),
  /** Built from deploy/docker/runner.Dockerfile. Without it there is no cluster to try. */
  MUSTER_CLUSTER_IMAGE: z.string().min(1).optional(),
  MUSTER_CLUSTER_KUBECONFIG: z.string().min(1).default('auto'),
  MUSTER_CLUSTER_NAMESPACE: z.string().min(1).default('muster'),
  MUSTER_CLUSTER_PYTHON: z.string().min(1).default('python3'),
  /** Whether agent-sandbox is installed, and Muster may make a pool of its own. */
  MUSTER_CLUSTER_CLAIMS: z.enum(['0', '1']).default('0'),
  /** Where its pods reach this machine, as `kubernetes.dialBack.advertise` has it; Muster listens on the host in it. */
  MUSTER_CLUSTER_DIAL_BACK: z
    .string()
    .regex(/^ws:\/\//, 'expected ws://, a host and a port, or port 0')
    .optional(),
  /** E2B's own sandbox daemon, which answers in place of the simulated one. */
  MUSTER_CLUSTER_ENVD: z.string().min(1).optional(),
  MUSTER_CLUSTER_PODS: z.coerce.number().int().min(2).max(10_000).default(4),
  /** The nodes' control groups. Of v1 the kernel ends single processes, and no kubelet tells why. */
  MUSTER_CLUSTER_CGROUPS: z.enum(['v1', 'v2']).default('v2'),
  /** Shell commands that return when the part of the cluster has been killed and was started again. */
  MUSTER_CLUSTER_RESTART_API_SERVER: z.string().min(1).optional(),
  MUSTER_CLUSTER_RESTART_KUBELET: z.string().min(1).optional(),
  /** A shell command that kills the container `program` of the pod $POD in $NAMESPACE. */
  MUSTER_CLUSTER_KILL_CONTAINER: z.string().min(1).optional(),
});

/** Reading an odd value is an error that names the variable. */
export const clusterUnderTest = environmentSchema.parse(process.env);

/** Why nothing of the cluster can be tried; undefined when it can. */
export const unavailable = reason();

function reason(): string | undefined {
  if (clusterUnderTest.MUSTER_TEST_CLUSTER !== '1') return 'npm run test:cluster speaks to clusters';
  return clusterUnderTest.MUSTER_CLUSTER_IMAGE === undefined ? 'MUSTER_CLUSTER_IMAGE names no image that its nodes can run' : undefined;
}

/** The same of claims. */
export const claimsUnavailable = unavailable ?? noClaims();

function noClaims(): string | undefined {
  return clusterUnderTest.MUSTER_CLUSTER_CLAIMS === '1' ? undefined : 'MUSTER_CLUSTER_CLAIMS does not say that agent-sandbox is installed';
}

/**
 * Of a pod's limits so little is set aside that a hundred fit on a node of two processors: they are idle most of the time, and what is
 * tried here is not the scheduler.
 */
const REQUESTED_SHARE = 0.01;

/** What the configuration's template says of pods. */
export const podSettings = {
  kubeconfig: clusterUnderTest.MUSTER_CLUSTER_KUBECONFIG,
  namespace: clusterUnderTest.MUSTER_CLUSTER_NAMESPACE,
  image: clusterUnderTest.MUSTER_CLUSTER_IMAGE,
  python: clusterUnderTest.MUSTER_CLUSTER_PYTHON,
  imagePullPolicy: 'IfNotPresent',
  requestedShare: REQUESTED_SHARE,
} as const;

/** Why pods cannot be had dial back; undefined when they can. */
export const dialBackUnavailable =
  unavailable ?? (clusterUnderTest.MUSTER_CLUSTER_DIAL_BACK === undefined ? 'MUSTER_CLUSTER_DIAL_BACK says no address' : undefined);

/** What the configuration has under `dialBack`. */
export function dialBackSettings(): Pick<DialBackSettings, 'host' | 'port' | 'advertise' | 'plaintext'> {
  const advertise = clusterUnderTest.MUSTER_CLUSTER_DIAL_BACK ?? '';
  const { hostname, port } = new URL(advertise);
  return { host: hostname, port: Number(port), advertise, plaintext: 'allowed' };
}

export function dialBackHere(): DialBackSettings {
  return {
    kind: 'dial-back',
    provider: 'kubernetes',
    ...dialBackSettings(),
    python: podSettings.python,
    dialler: '/muster/runner/dialler.py',
  };
}

export function clusterPod(changes: Partial<PodTemplate> = {}): PodTemplate {
  const { kubeconfig, namespace, image = '' } = podSettings;
  return podTemplate(kubeconfig, { namespace, image, requestedShare: REQUESTED_SHARE, requestsPerSecond: 200, ...changes });
}

/** Names of the pods of owners whose name begins so. */
export async function podsOf(ownerPrefix: string, isWanted: (pod: PodView) => boolean = () => true): Promise<readonly string[]> {
  using cluster = new Cluster(clusterPod(), systemClock);
  const { items } = await cluster.listPods(MANAGED_SELECTOR, NEVER);
  const theirs = items.filter((pod) => pod.metadata.labels[OWNER]?.startsWith(ownerPrefix) === true && isWanted(pod));
  return theirs.map(({ metadata }) => metadata.name);
}

/** Whether its containers run, and are to go on running. */
export function isAtWork(pod: PodView): boolean {
  return readPodState(pod).kind === 'ready' && pod.metadata.deletionTimestamp === undefined;
}

/** Claims of owners whose name begins so, and the pods that they are bound to. */
export async function claimsOf(ownerPrefix: string): Promise<readonly { readonly name: string; readonly pod: string | undefined }[]> {
  using cluster = new Cluster(clusterPod(), systemClock);
  const { items } = await new AgentSandbox(cluster).list('sandboxclaims', parseClaim, MANAGED_SELECTOR, NEVER);
  return items
    .filter(({ metadata }) => metadata.name.startsWith(ownerPrefix))
    .map(({ metadata, status }) => ({ name: metadata.name, pod: status.sandbox.name || undefined }));
}

/** Runs one of the commands above. @throws when it fails. */
export async function shell(command: string, environment: Readonly<Record<string, string>> = {}): Promise<void> {
  const child = spawn(...dependent('/bin/sh', ['-c', command]), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...environment },
  });
  const [said, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  if (code !== 0) throw new Error(`"${command}" ended with ${String(signal ?? code)}: ${said}`);
}
