import type { Page, PageRequest } from '../../evaluation-store/paging.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { OwnerId } from '../../kernel/ids.ts';
import type { ActionName } from '../actions/action.ts';
import type { RewardTerms } from '../tasks/arena-rules.ts';
import type { TaskDigest, TaskId } from '../tasks/task-ids.ts';
import type { AgentEpisodeId } from './episode-ids.ts';
import type { EndCause, EpisodeLimits, EpisodeOutcome, Spent } from './episode-state.ts';
import type { StepDelta } from './step-files.ts';

/** An episode's facts from its beginning. */
export interface NewAgentEpisode {
  readonly id: AgentEpisodeId;
  readonly principal: string;
  readonly task: TaskId;
  /** A task that has changed cannot continue this episode. */
  readonly taskDigest: TaskDigest;
  /** The caller's name for it. */
  readonly agent: string;
  readonly seed: number;
  /** Decides the hidden cases. No caller sees it before the episode's end. */
  readonly gradingSeed: string;
  readonly limits: EpisodeLimits;
  readonly actions: readonly ActionName[];
  readonly terms: RewardTerms;
  /** Whether it is graded, with its present files, when it is given up or has no request for too long. */
  readonly gradesAbandoned: boolean;
  /** It is undefined for an episode that begins with the files of its task. */
  readonly origin: EpisodeOrigin | undefined;
}

/** The origin of a fork. It shares its first steps with earlier episodes, which are stored once. */
export interface EpisodeOrigin {
  /** The ancestors from the first episode on, each with the last step that the fork shares with it. The numbers grow. */
  readonly lineage: readonly SharedSteps[];
  /** What the shared steps have spent. */
  readonly spent: Spent;
}

export interface SharedSteps {
  readonly episode: AgentEpisodeId;
  /** Number of the last one. */
  readonly through: number;
}

export interface StoredAgentEpisode extends NewAgentEpisode {
  readonly createdAt: Date;
  readonly touchedAt: Date;
  readonly steps: number;
  readonly spent: Spent;
  /** Undefined while the episode takes steps. */
  readonly endedBy: EndCause | undefined;
  /** Undefined until the episode is closed. */
  readonly closed: ClosedEpisode | undefined;
}

export interface ClosedEpisode {
  readonly at: Date;
  readonly outcome: EpisodeOutcome;
  readonly reward: number | undefined;
  /** The answer to the reward's request, byte for byte. */
  readonly document: string;
}

/** A step that was answered. Never changed. */
export interface StoredStep {
  /** The number of the step, from 1. */
  readonly number: number;
  /** Digest of the request's body. */
  readonly digest: string;
  /** The action as it was sent. */
  readonly action: unknown;
  /** The answer, byte for byte. */
  readonly answer: string;
  /** Its changes of files; undefined where they were not stored, so that the episode cannot continue elsewhere. */
  readonly delta: StepDelta | undefined;
  readonly at: Date;
}

export type NewStep = Omit<StoredStep, 'at'> & {
  /** What the whole episode has spent, including this step. */
  readonly spent: Spent;
  readonly endedBy: EndCause | undefined;
};

/** The right to write an episode, until another holder gets it. */
export interface Hold {
  readonly episode: AgentEpisodeId;
  /** Grows with each holder. */
  readonly fence: number;
}

/** Another holder has the episode, or the step is not the next one. The receiver drops the episode. */
export class HoldLostError extends InfrastructureError {
  constructor(episode: AgentEpisodeId) {
    super('episode.hold-lost', `episode ${episode} is now held by another Muster; try again`);
  }
}

export interface EpisodeFilter {
  readonly principal?: string | undefined;
  readonly task?: string | undefined;
  readonly agent?: string | undefined;
  readonly state?: 'open' | 'grading' | 'closed' | undefined;
  /** Closed episodes with at least this reward. */
  readonly leastReward?: number | undefined;
}

/**
 * Every episode, step and reward; what a method has resolved for survives the end of a Muster. Each throws InfrastructureError when the store
 * cannot do it, or not in time; whether it was done is then open.
 */
export interface Trajectories {
  /** A fork begins with the number of steps, and what they have spent, of its origin. */
  create(episode: NewAgentEpisode): Promise<StoredAgentEpisode>;

  find(id: AgentEpisodeId): Promise<StoredAgentEpisode | undefined>;

  /** Lists the latest first. @throws InputError `cursor.invalid`. */
  list(filter: EpisodeFilter, page: PageRequest): Promise<Page<StoredAgentEpisode>>;

  /** Counts the episodes of a principal that take steps. */
  countOpen(principal: string): Promise<number>;

  /** Lists the episodes that are not closed: ended ones first, and then by age of their last change. */
  listUnclosed(limit: number): Promise<readonly StoredAgentEpisode[]>;

  /**
   * Takes the right to write an episode, unless another holder has it now. The same holder renews its own.
   *
   * @returns undefined when another holds it, or there is none.
   */
  hold(id: AgentEpisodeId, holder: OwnerId, milliseconds: number): Promise<Hold | undefined>;

  /** Appends the next step. @throws HoldLostError when another holds the episode, or the step is not the next. */
  append(hold: Hold, step: NewStep): Promise<void>;

  /** Ends the episode: it takes no more steps. @throws HoldLostError */
  end(hold: Hold, cause: EndCause): Promise<void>;

  /** Takes effect once; closing it again changes nothing. @throws HoldLostError */
  close(hold: Hold, cause: EndCause, closed: Omit<ClosedEpisode, 'at'>): Promise<void>;

  /** Lists trees of forks whose episodes were all closed at least this many milliseconds ago, named by their first episodes. */
  listClosedTrees(milliseconds: number, limit: number): Promise<readonly AgentEpisodeId[]>;

  /** Removes every episode of such a tree, and its steps; nothing when one of them was not closed that long ago. */
  forgetTree(tree: AgentEpisodeId, milliseconds: number): Promise<void>;

  /** Returns its own steps with higher numbers, in order: see `shared-steps.ts` for those that a fork shares with others. */
  steps(id: AgentEpisodeId, after: number, limit: number): Promise<readonly StoredStep[]>;
}
