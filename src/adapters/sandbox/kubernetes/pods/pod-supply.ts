import type { Obstacle, SandboxSpec } from '../../../../pool/ports/sandbox.ts';
import type { FollowedPod } from './pod-kind.ts';
import type { PodHold } from '../exec/pod-line.ts';

/** Where the pods of sandboxes come from: Muster makes them, or claims them from a controller that does. */
export interface PodSupply extends AsyncDisposable {
  /** Nothing is asked of the cluster yet. @param hold what its containers do until they are wanted. */
  want(spec: SandboxSpec, hold: PodHold): WantedPod;
  /** What those that are wanted wait for. */
  obstacles(): readonly Obstacle[];
  /** Whether something is left of what was wanted here, or made for it. */
  readonly isHolding: boolean;
}

/** One sandbox's pod, from before it is asked for. */
export interface WantedPod {
  /**
   * Asks for it, and resolves when its containers run. Aborting the signal leaves what there is of it to `remove`.
   *
   * @throws InputError | InfrastructureError that say what is in the way.
   */
  takeReadyPod(signal: AbortSignal): Promise<FollowedPod>;
  /** Resolves when nothing is left of it. */
  remove(): Promise<void>;
}

/** The same obstacle of many pods is one that keeps many. */
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
