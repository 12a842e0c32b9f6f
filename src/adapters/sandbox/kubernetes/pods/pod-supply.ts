import type { Obstacle, SandboxSpec } from '../../../../pool/ports/sandbox.ts';
import type { FollowedPod } from './pod-kind.ts';
import type { PodHold } from '../exec/pod-line.ts';

/** Supplies the pods of sandboxes: Muster makes them, or claims them from a controller. */
export interface PodSupply extends AsyncDisposable {
  /** Requests nothing from the cluster yet. @param hold what its containers do until they are used. */
  want(spec: SandboxSpec, hold: PodHold): WantedPod;
  /** Lists what the requested pods wait for. */
  obstacles(): readonly Obstacle[];
  /** Whether something is left of what was wanted here, or made for it. */
  readonly isHolding: boolean;
}

/** One sandbox's pod, from before it is requested. */
export interface WantedPod {
  /**
   * Requests it, and resolves when its containers run. After an abort, `remove` ends what exists of it.
   *
   * @throws InputError | InfrastructureError that say what prevents it.
   */
  takeReadyPod(signal: AbortSignal): Promise<FollowedPod>;
  /** Resolves when nothing is left of it. */
  remove(): Promise<void>;
}

/** Merges the same obstacle of many pods into one. */
export function mergeObstacles(obstacles: Iterable<{ readonly kind: string; readonly detail: string } | undefined>): readonly Obstacle[] {
  const found = new Map<string, { kind: string; sandboxes: number; detail: string }>();
  for (const obstacle of obstacles) {
    if (obstacle === undefined) continue;
    const { kind, detail } = obstacle;
    const known = found.get(kind) ?? { kind, sandboxes: 0, detail };
    known.sandboxes += 1;
    found.set(kind, known);
  }
  return [...found.values()];
}
