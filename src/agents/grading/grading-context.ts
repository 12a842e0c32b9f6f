import type { Clock } from '../../kernel/clock.ts';
import type { Task, TaskStep } from '../tasks/task.ts';
import type { ComputedCases } from './expected-cases.ts';
import type { GradingSandboxes } from './grading-sandboxes.ts';
import type { Submission } from './submission.ts';

/** Reads the files of a task. */
export interface TaskContent {
  /** @param path as `Task.files` has it. @throws InputError when the file is not the one that was read with the task. */
  read(path: string): Promise<Buffer>;
}

/** What a verdict is taken of. */
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
  /** Where it is left out, generator and golden model run for every verdict. */
  readonly computed?: ComputedCases;
  /** Called as each stage begins. */
  readonly onStage?: (stage: string) => void;
}
