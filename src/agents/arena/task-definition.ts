import { digestVerifier } from '../tasks/task-digest.ts';
import type { Task } from '../tasks/task.ts';
import { VERIFIER_VERSION } from '../verification/verdict.ts';
import type { JudgedTask, TaskDefinition } from './task-records.ts';

/** What is stored of a task, with the verifier of this Muster. */
export function toDefinition(task: Task): TaskDefinition {
  const { digest, id, description, keywords } = task;
  return { digest, id, description, keywords, verifier: digestVerifier(task, task.steps[0], VERIFIER_VERSION) };
}

/** What its baseline and the report on its soundness belong to. */
export function toJudgedTask(task: Task): JudgedTask {
  const { digest, verifier } = toDefinition(task);
  return { task: digest, verifier };
}
