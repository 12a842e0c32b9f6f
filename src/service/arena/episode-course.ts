import type { Observation } from '../../agents/actions/observation.ts';
import type { EndCause, EpisodeState, Spent } from '../../agents/arena/episode-state.ts';
import { createEpisodeState } from '../../agents/arena/plan-episode.ts';
import type { StepDelta } from '../../agents/arena/step-files.ts';
import type { StoredAgentEpisode, StoredStep } from '../../agents/arena/trajectories.ts';

/** The result of an action. */
export interface Acted {
  readonly observation: Observation;
  readonly delta: StepDelta | undefined;
  readonly notice: string | null;
  readonly spent: Spent;
  readonly isSubmission: boolean;
}

export const NOTHING_CHANGED: StepDelta = { changed: [], removed: [] };

export function toActed(
  observation: Observation,
  delta: StepDelta | undefined,
  notice: string | null,
  seconds: number,
  bytesWritten: number,
  isSubmission = false,
): Acted {
  return { observation, delta, notice, spent: { seconds, bytesWritten, output: observation.text.length }, isSubmission };
}

export function takesSteps({ phase }: EpisodeState): boolean {
  return phase.kind === 'created' || phase.kind === 'ready' || phase.kind === 'stepping';
}

/** Returns undefined when the changes of one of them were not stored, and no later step catches up. */
export function listDeltas(steps: readonly StoredStep[]): readonly StepDelta[] | undefined {
  let isKnown = true;
  const deltas = steps.map(({ delta }) => {
    isKnown = delta !== undefined && (isKnown || delta.catchesUp === true);
    return delta ?? NOTHING_CHANGED;
  });
  return isKnown ? deltas : undefined;
}

/** Derives the state that follows from the stored records. Work that was under way has to be repeated. */
export function deriveState(episode: StoredAgentEpisode, steps: readonly StoredStep[]): EpisodeState {
  const answered = steps.map(({ digest }) => digest);
  const base = { ...createEpisodeState(episode.touchedAt.getTime()), answered, spent: episode.spent };
  const cause: EndCause = episode.endedBy ?? 'submit';
  if (episode.closed !== undefined) return { ...base, phase: { kind: 'closed', cause, outcome: episode.closed.outcome } };
  if (episode.endedBy !== undefined) return { ...base, phase: { kind: 'submitted', cause: episode.endedBy } };
  return steps.length === 0 ? base : { ...base, phase: { kind: 'ready' } };
}
