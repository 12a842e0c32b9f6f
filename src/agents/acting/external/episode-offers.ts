import type { Tool } from '../../actions/action-tools.ts';
import type { EpisodeLimits } from '../../arena/episode-state.ts';
import type { Observation } from '../../actions/observation.ts';

/** What an agent receives about an episode that it takes. */
export interface EpisodeOpening {
  readonly task: string;
  /** The seed for agents that use randomness. */
  readonly seed: number;
  readonly observation: Observation;
  readonly limits: EpisodeLimits;
  readonly actions: readonly Tool[];
}

export type StepReply =
  /** The text has the same bytes each time the step is sent. */
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: 'refused'; readonly reason: 'conflict' | 'gap' | 'over'; readonly expected: number };

/** An episode that an agent outside of Muster may play. */
export interface OfferedEpisode {
  readonly opening: EpisodeOpening;
  /** Steps that were answered. */
  readonly steps: number;
  /** Called once, when an agent takes it. */
  take(): void;
  /** @param number undefined for the next step. @throws InfrastructureError when the workspace is lost; the episode is offered again. */
  step(number: number | undefined, body: unknown): Promise<StepReply>;
  /** Ends the episode, which is graded in its present state. */
  giveUp(): void;
}

/** Offers episodes to agents outside of Muster. */
export interface EpisodeOffers {
  /** It is shown to people. */
  readonly address: string;
  /** Offers an episode to the next agent that asks. Disposing withdraws it. */
  offer(episode: OfferedEpisode): Disposable;
}
