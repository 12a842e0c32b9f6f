import type { Clock } from '../../kernel/clock.ts';
import type { Task, TaskStep } from '../tasks/task.ts';
import type { ComputedCases } from './expected-cases.ts';
import type { GradingSandboxes } from './grading-sandboxes.ts';
import type { Submission } from './submission.ts';

export interface TaskContent {
  /** @param path as in `Task.files`. @throws InputError when the file has changed since the task was read. */
  read(path: string): Promise<Buffer>;
}

export interface Grading {
  readonly task: Task;
  readonly step: TaskStep;
  readonly content: TaskContent;
  readonly submission: Submission;
  /** Decides which hidden cases there are and which are repeated. */
  readonly seed: string;
}

export interface GradingContext {
  readonly sandboxes: GradingSandboxes;
  readonly clock: Clock;
  /** When left out, generator and golden model run for every verdict. */
  readonly computed?: ComputedCases;
  /** Called as each stage begins. */
  readonly onStage?: (stage: string) => void;
}
