import { createAbortError } from '../../../../kernel/abort.ts';
import type { Clock } from '../../../../kernel/clock.ts';
import { InfrastructureError, InputError, type MusterError } from '../../../../kernel/errors.ts';
import type { PodTemplate } from '../settings/pod-template.ts';
import type { FollowedPod } from './pod-kind.ts';
import type { PodEnd, PodObstacle } from '../cluster/pod-view.ts';

/**
 * Resolves when the pod's containers run.
 *
 * @throws InfrastructureError `sandbox.unschedulable`, `sandbox.container`, `sandbox.evicted`, `sandbox.preempted`, `sandbox.node-lost`, …;
 * InputError `template.image` when its image is not available.
 */
export async function waitUntilReady(followed: FollowedPod, pod: PodTemplate, clock: Clock, signal: AbortSignal): Promise<void> {
  const since = clock.now();
  for (;;) {
    const { state } = followed;
    if (signal.aborted) throw createAbortError(signal);
    switch (state.kind) {
      case 'ready':
        return;
      case 'ended':
        throw endError(followed.name, state.end);
      case 'gone':
        throw createGoneError(followed.name);
      case 'pending':
        if (state.obstacle) assertPassable(followed.name, state.obstacle, clock.now() - since, pod);
        break;
      case 'unseen':
        break;
    }
    await followed.change(signal);
  }
}

/**
 * Runs `work` that needs a running pod, unless the pod ends meanwhile.
 *
 * @throws InfrastructureError with the pod's reason when it ends first.
 */
export async function runWhileAlive<Value>(
  followed: FollowedPod,
  signal: AbortSignal,
  act: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const ended = new AbortController();
  const look = (): void => {
    if (followed.state.kind === 'ended') ended.abort(endError(followed.name, followed.state.end));
    if (followed.state.kind === 'gone') ended.abort(createGoneError(followed.name));
  };
  using _watching = followed.onChange(look);
  look();
  return await act(AbortSignal.any([signal, ended.signal]));
}

function assertPassable(name: string, obstacle: PodObstacle, waitedMs: number, pod: PodTemplate): void {
  const isOverdue = obstacle.kind === 'unschedulable' && waitedMs >= pod.unschedulableSeconds * 1000;
  if (obstacle.isStuck || isOverdue) throw createObstacleError(name, obstacle, pod);
}

function createObstacleError(name: string, { kind, detail }: PodObstacle, { image, unschedulableSeconds }: PodTemplate): MusterError {
  switch (kind) {
    case 'unschedulable':
      return new InfrastructureError(
        'sandbox.unschedulable',
        `no node had room for the pod ${name} within ${unschedulableSeconds} s (${detail}); lower pool.max, the template's limits or kubernetes.requestedShare, or add nodes`,
      );
    case 'image':
      return new InputError(
        'template.image',
        `the image ${image} cannot be pulled for the pod ${name} (${detail}); set kubernetes.image to one that the nodes can pull, and kubernetes.imagePullSecrets if the registry wants credentials`,
      );
    case 'container':
      return new InfrastructureError(
        'sandbox.container',
        `the pod ${name} cannot run (${detail}); is there a POSIX shell in the image ${image}?`,
      );
  }
}

function createGoneError(name: string): InfrastructureError {
  return new InfrastructureError('sandbox.deleted', `the pod ${name} was deleted before it ran`);
}

function endError(name: string, { kind, detail }: PodEnd): InfrastructureError {
  return new InfrastructureError(`sandbox.${kind}`, `the pod ${name} ended before its program was started: ${detail}`);
}
