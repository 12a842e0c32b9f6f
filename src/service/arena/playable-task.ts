import type { TaskContent } from '../../agents/grading/grading-context.ts';
import type { Task } from '../../agents/tasks/task.ts';

/** A task with its files, as an episode plays it. */
export interface PlayableTask {
  readonly task: Task;
  readonly content: TaskContent;
}
