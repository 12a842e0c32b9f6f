import type { TaskContent } from '../../grading/grading-context.ts';
import type { Submission } from '../../grading/submission.ts';
import type { StopReason, Trajectory } from '../../rollouts/record/trajectory.ts';
import type { Segment } from '../../rollouts/record/sampled-tokens.ts';
import type { Tool } from '../../actions/action-tools.ts';
import type { Task, TaskStep } from '../../tasks/task.ts';

/** Where the task has no limit of its own. */
export const AGENT_SECONDS = 600;

/** A step of a task, as an agent meets it. */
export interface OpenStep {
  readonly task: Task;
  readonly step: TaskStep;
  readonly content: TaskContent;
}

/** What an agent has come to by its actions. */
export interface Acted {
  /** Undefined when there is nothing to grade: the workspace has run out of memory, or the model's server takes the conversation no further. */
  readonly submission: Submission | undefined;
  /** What the server of a model has refused with; undefined when it has not. */
  readonly refusal?: string | undefined;
  /** Actions that were carried out. */
  readonly actions: number;
  readonly stopReason: StopReason;
  /** What a program has printed, for people. */
  readonly printed?: string;
  /** What a model was given and said; undefined for agents without one. */
  readonly course: ModelCourse | undefined;
}

export interface ModelCourse extends Pick<Trajectory, 'model' | 'turns'> {
  readonly tools: readonly Tool[];
  readonly prompt: readonly Trajectory['prompt'][number][];
  readonly segments: readonly Segment[];
  readonly modelSeconds: number;
  readonly actionSeconds: number;
  /** Whether a program has changed or left out what stood in the conversation before. */
  readonly isRewritten?: boolean;
}
