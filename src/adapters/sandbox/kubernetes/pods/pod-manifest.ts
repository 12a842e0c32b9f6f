import type {
  V1Container,
  V1Pod,
  V1PodSpec,
  V1ResourceRequirements,
  V1SecurityContext,
  V1Toleration,
  V1Volume,
} from '@kubernetes/client-node';
import type { OwnerId } from '../../../../kernel/ids.ts';
import type { PodTemplate } from '../settings/pod-template.ts';
import type { SandboxSpec } from '../../../../pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../../../../pool/ports/template.ts';
import { getBroughtPath } from '../../remote/brought-mounts.ts';
import { INBOX } from '../../upload-path.ts';
import { INBOX_CONTAINER, PROGRAM_CONTAINER } from './container-names.ts';
import { EXEC_HOLD } from '../exec/exec-line.ts';
import { createPodLabels, namePod } from '../cluster/pod-labels.ts';
import type { PodHold } from '../exec/pod-line.ts';

/** The program sees its node's cache here. */
export const NODE_CACHE = '/muster/node';
/** The user of both containers. */
const UID = 1000;
/** The containers end at once at SIGTERM: this is for a node that is slow to send it. */
export const GRACE_SECONDS = 1;
/** The pod's own deadline comes after Muster's, which can report the reason; it is for pods whose Muster is gone. */
const DEADLINE_MARGIN_SECONDS = 60;
/** A node that is lost gives its pods back to Muster after this long, and not after Kubernetes' five minutes. */
const LOST_NODE_SECONDS = 30;
const INBOX_MEMORY_BYTES = 64 * 2 ** 20;
/** Shared memory's part of what a sandbox can write. */
const SHARED_MEMORY_PART = 4;

const LOCKED: V1SecurityContext = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: UID,
  runAsGroup: UID,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

/** Creates the pod of one sandbox. Its containers wait; the program is started in one of them later. Pure. */
export function createPodManifest(owner: OwnerId, { id, template }: SandboxSpec, pod: PodTemplate, hold = EXEC_HOLD): V1Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: namePod(owner, id), namespace: pod.namespace, labels: createPodLabels(owner, id, template) },
    spec: createPodSpec(template, pod, hold),
  };
}

/** Creates the spec of a pod, also for the template of pods that a controller makes. */
export function createPodSpec(template: SandboxTemplate, pod: PodTemplate, hold = EXEC_HOLD): V1PodSpec {
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    hostname: 'sandbox',
    terminationGracePeriodSeconds: GRACE_SECONDS,
    activeDeadlineSeconds: Math.ceil(template.limits.lifetimeSeconds) + DEADLINE_MARGIN_SECONDS,
    securityContext: { runAsNonRoot: true, fsGroup: UID, seccompProfile: { type: 'RuntimeDefault' } },
    ...describePlacement(pod),
    ...(hold.hostAliases.length > 0 ? { hostAliases: [...hold.hostAliases] } : {}),
    containers: [createProgramContainer(template, pod, hold), createInboxContainer(template, pod, hold)],
    volumes: [
      ...createMemoryVolumes(template),
      { name: 'inbox', emptyDir: {} },
      ...template.mounts.map((_, i) => ({ name: nameMount(i), emptyDir: {} })),
      ...createNodeCacheVolumes(pod),
    ],
  };
}

function describePlacement(pod: PodTemplate): Pick<V1PodSpec, 'nodeSelector' | 'tolerations' | 'imagePullSecrets'> {
  const { runtimeClassName, priorityClassName } = pod;
  return {
    nodeSelector: { ...pod.nodeSelector },
    tolerations: [...pod.tolerations.map(getToleration), ...createLostNodeTolerations()],
    imagePullSecrets: pod.imagePullSecrets.map((name) => ({ name })),
    ...(runtimeClassName === undefined ? {} : { runtimeClassName }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
  };
}

function getToleration({ key, operator, value, effect, tolerationSeconds }: PodTemplate['tolerations'][number]): V1Toleration {
  return {
    ...(key === undefined ? {} : { key }),
    ...(operator === undefined ? {} : { operator }),
    ...(value === undefined ? {} : { value }),
    ...(effect === undefined ? {} : { effect }),
    ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
  };
}

function createLostNodeTolerations(): V1Toleration[] {
  return ['not-ready', 'unreachable'].map((taint) => ({
    key: `node.kubernetes.io/${taint}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: LOST_NODE_SECONDS,
  }));
}

function createProgramContainer(template: SandboxTemplate, pod: PodTemplate, hold: PodHold): V1Container {
  const waiting = createWaitingContainer(PROGRAM_CONTAINER, pod, hold);
  const environment = { HOME: '/tmp', TMPDIR: '/tmp', LANG: 'C.UTF-8', ...template.environment };
  return {
    ...waiting,
    workingDir: '/tmp',
    env: [...Object.entries(environment).map(([name, value]) => ({ name, value })), ...waiting.env],
    resources: createProgramResources(template, pod),
    volumeMounts: [
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'shared-memory', mountPath: '/dev/shm' },
      ...listWritable(template).map((mountPath, i) => ({ name: nameWritable(i), mountPath })),
      { name: 'inbox', mountPath: INBOX, readOnly: true },
      ...template.mounts.map(({ target }, i) => ({ name: nameMount(i), mountPath: target, readOnly: true })),
      ...(pod.fetching?.nodeCache ? [{ name: 'node-cache', mountPath: NODE_CACHE, readOnly: true }] : []),
    ],
  };
}

function createInboxContainer({ mounts }: SandboxTemplate, pod: PodTemplate, hold: PodHold): V1Container {
  return {
    ...createWaitingContainer(INBOX_CONTAINER, pod, hold),
    resources: { limits: { memory: String(INBOX_MEMORY_BYTES), cpu: '1' }, requests: { memory: '8Mi', cpu: '1m' } },
    volumeMounts: [{ name: 'inbox', mountPath: INBOX }, ...mounts.map((_, i) => ({ name: nameMount(i), mountPath: getBroughtPath(i) }))],
  };
}

/** Creates the parts that both containers share. */
function createWaitingContainer(name: string, { image, imagePullPolicy }: PodTemplate, hold: PodHold) {
  return { name, image, imagePullPolicy, ...hold.container(name), securityContext: LOCKED };
}

function createProgramResources({ limits }: SandboxTemplate, { requestedShare }: PodTemplate): V1ResourceRequirements {
  return {
    limits: { memory: String(limits.memoryBytes), cpu: formatMilli(limits.cpus) },
    requests: { memory: String(Math.ceil(limits.memoryBytes * requestedShare)), cpu: formatMilli(limits.cpus * requestedShare) },
  };
}

function formatMilli(cpus: number): string {
  return `${Math.max(1, Math.round(cpus * 1000))}m`;
}

/** A claim, as the Pod Security level "restricted" wants it: a pod that could name directories of its node could name any. */
function createNodeCacheVolumes({ fetching }: PodTemplate): NonNullable<V1PodSpec['volumes']> {
  const { claim } = fetching?.nodeCache ?? {};
  return claim === undefined ? [] : [{ name: 'node-cache', persistentVolumeClaim: { claimName: claim, readOnly: true } }];
}

/** The program's writable files are in memory of bounded size, as in local sandboxes. */
function createMemoryVolumes(template: SandboxTemplate): NonNullable<V1PodSpec['volumes']> {
  const { diskBytes } = template.limits;
  const writable = listWritable(template);
  const shared = Math.max(1, Math.floor(diskBytes / SHARED_MEMORY_PART));
  const each = Math.floor((diskBytes - shared) / (1 + writable.length));
  return [
    createMemoryVolume('tmp', each),
    createMemoryVolume('shared-memory', shared),
    ...writable.map((_, i) => createMemoryVolume(nameWritable(i), each)),
  ];
}

function createMemoryVolume(name: string, bytes: number): V1Volume {
  return { name, emptyDir: { medium: 'Memory', sizeLimit: String(bytes) } };
}

function listWritable({ workspace }: SandboxTemplate): readonly string[] {
  return workspace?.writable ?? [];
}

function nameWritable(index: number): string {
  return `writable-${index}`;
}

function nameMount(index: number): string {
  return `mount-${index}`;
}
