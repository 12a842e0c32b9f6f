import type { TaskContent } from '../grading/grading-context.ts';
import type { Task } from '../tasks/task.ts';
import type { Agent } from './agent.ts';

/** An agent's episode on a task. */
export interface TaskEpisode {
  readonly task: Task;
  readonly content: TaskContent;
  readonly agent: Agent;
  readonly agentDigest: string;
  readonly identity: EpisodeIdentity;
  /** Seed of a model's sampling. */
  readonly policySeed: number;
  /** Decides which hidden cases there are: the same for every agent. */
  readonly environmentSeed: number;
}

/** The episode's name among others. */
export interface EpisodeIdentity {
  readonly trajectory: string;
  readonly group: string | null;
  /** Position in the group, or index of the episode. */
  readonly rep: number;
}
