import { digestVerifier } from '../tasks/task-digest.ts';
import type { Task } from '../tasks/task.ts';
import { VERIFIER_VERSION } from '../verification/verdict.ts';
import type { JudgedTask, TaskDefinition } from './task-records.ts';

/** Returns the stored record of a task with this Muster's verifier. */
export function toDefinition(task: Task): TaskDefinition {
  const { digest, id, description, keywords } = task;
  return { digest, id, description, keywords, verifier: digestVerifier(task, task.steps[0], VERIFIER_VERSION) };
}

/** Returns the key of its baseline and of its soundness report. */
export function toJudgedTask(task: Task): JudgedTask {
  const { digest, verifier } = toDefinition(task);
  return { task: digest, verifier };
}
