import { z } from 'zod';

/** The parts of a pod that Muster reads: thousands of pods are held in memory. */
const stateSchema = z.object({
  waiting: z.object({ reason: z.string().default(''), message: z.string().default('') }).optional(),
  running: z.object({}).optional(),
  terminated: z.object({ reason: z.string().default(''), message: z.string().default(''), exitCode: z.number().default(0) }).optional(),
});
const conditionSchema = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().default(''),
  message: z.string().default(''),
});
const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string().default(''),
    labels: z.record(z.string(), z.string()).default({}),
    deletionTimestamp: z.string().or(z.date()).optional(),
    resourceVersion: z.string().default(''),
  }),
  spec: z.object({ nodeName: z.string().optional() }).prefault({}),
  status: z
    .object({
      phase: z.string().default('Pending'),
      reason: z.string().default(''),
      message: z.string().default(''),
      conditions: z.array(conditionSchema).default([]),
      containerStatuses: z
        .array(z.object({ name: z.string(), ready: z.boolean().default(false), state: stateSchema.default({}) }))
        .default([]),
    })
    .prefault({}),
});

export type PodView = z.infer<typeof podSchema>;

/** @throws ZodError for anything but a pod. */
export function parsePod(pod: unknown): PodView {
  return podSchema.parse(pod);
}

/** The state of a pod, as far as a sandbox needs it. */
export type PodState =
  | { readonly kind: 'pending'; readonly obstacle: PodObstacle | undefined }
  | { readonly kind: 'ready' }
  | { readonly kind: 'ended'; readonly end: PodEnd };

/** What a pod waits for. */
export interface PodObstacle {
  readonly kind: 'unschedulable' | 'image' | 'container';
  readonly detail: string;
  /** True when Kubernetes itself has given up for now, or can never succeed. */
  readonly isStuck: boolean;
}

/** Says how a pod ended. */
export interface PodEnd {
  readonly kind: 'evicted' | 'preempted' | 'node-lost' | 'deadline' | 'out-of-memory' | 'ended' | 'deleted';
  readonly detail: string;
}

const IMAGE_REASONS: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
]);
const CONTAINER_REASONS: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'CrashLoopBackOff',
]);
/** The first failed pull may be temporary: Kubernetes tries again before it backs off. */
const PASSING_REASONS: ReadonlySet<string> = new Set(['ErrImagePull', 'RegistryUnavailable']);

export function readPodState(pod: PodView): PodState {
  const end = readPodEnd(pod);
  if (end !== undefined) return { kind: 'ended', end };
  const { containerStatuses } = pod.status;
  const isReady = containerStatuses.length > 0 && containerStatuses.every(({ ready, state }) => ready || state.running !== undefined);
  return isReady && pod.status.phase === 'Running' ? { kind: 'ready' } : { kind: 'pending', obstacle: readPodObstacle(pod) };
}

function readPodEnd({ metadata, status }: PodView): PodEnd | undefined {
  const disruption = status.conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
  if (status.reason === 'NodeLost' || disruption?.reason === 'DeletionByTaintManager' || disruption?.reason === 'DeletionByPodGC') {
    return { kind: 'node-lost', detail: joinMessage('its node was lost', disruption?.message ?? status.message) };
  }
  if (status.reason === 'Preempting' || disruption?.reason === 'PreemptionByScheduler') {
    return { kind: 'preempted', detail: joinMessage('it made room for a pod of higher priority', disruption?.message ?? status.message) };
  }
  if (status.reason === 'Evicted' || disruption?.reason === 'EvictionByEvictionAPI' || disruption?.reason === 'TerminationByKubelet') {
    return { kind: 'evicted', detail: joinMessage('it was evicted from its node', status.message || disruption?.message) };
  }
  if (status.reason === 'DeadlineExceeded') return { kind: 'deadline', detail: 'its activeDeadlineSeconds passed' };
  const terminated = status.containerStatuses.find(({ state }) => state.terminated !== undefined);
  if (terminated?.state.terminated?.reason === 'OOMKilled' && terminated.name !== 'inbox') {
    return { kind: 'out-of-memory', detail: 'its container reached its memory limit' };
  }
  if (metadata.deletionTimestamp !== undefined) return { kind: 'deleted', detail: 'its pod was deleted' };
  const { reason = '', exitCode = 0, message = '' } = terminated?.state.terminated ?? {};
  if (terminated)
    return { kind: 'ended', detail: joinMessage(`its container "${terminated.name}" ended (${reason}, exit code ${exitCode})`, message) };
  if (status.phase === 'Failed' || status.phase === 'Succeeded')
    return { kind: 'ended', detail: joinMessage(`its pod is ${status.phase}`, status.message) };
  return undefined;
}

function readPodObstacle({ status }: PodView): PodObstacle | undefined {
  for (const { name, state } of status.containerStatuses) {
    const { reason = '', message = '' } = state.waiting ?? {};
    const detail = joinMessage(`container "${name}": ${reason}`, message);
    if (IMAGE_REASONS.has(reason)) return { kind: 'image', detail, isStuck: !PASSING_REASONS.has(reason) };
    if (CONTAINER_REASONS.has(reason)) return { kind: 'container', detail, isStuck: true };
  }
  const scheduled = status.conditions.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False')
    return { kind: 'unschedulable', detail: joinMessage(scheduled.reason, scheduled.message), isStuck: false };
  return undefined;
}

function joinMessage(what: string, message: string | undefined): string {
  return message ? `${what}: ${message}` : what;
}
