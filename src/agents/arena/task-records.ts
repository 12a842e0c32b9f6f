import type { Digest } from '../../kernel/ids.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Soundness } from '../grading/soundness.ts';
import type { TaskDigest, TaskId } from '../tasks/task-ids.ts';

/** A task as it was played. Its digest covers all of it, so a stored record never changes. */
export interface TaskDefinition {
  readonly digest: TaskDigest;
  readonly id: TaskId;
  readonly description: string;
  readonly keywords: readonly string[];
  /** The digest of what decides its verdicts: equal for tasks that differ only in their instruction. */
  readonly verifier: Digest;
}

export interface DefinedTask extends TaskDefinition {
  readonly definedAt: Date;
}

/** A verifier's findings about a task. */
export interface JudgedTask {
  readonly task: TaskDigest;
  readonly verifier: Digest;
}

/** The resources of a submission. */
export interface Effort {
  /** Processor time of the verifier's programs, measured outside of the sandbox. */
  readonly cpuSeconds: number;
  readonly steps: number;
}

/** The measurements of the task's own solution, with which submissions are compared. */
export interface Baseline extends Effort {
  readonly reward: number | null;
  /** The verdict's seed, with which it can be repeated. */
  readonly seed: string;
}

/** The task, or the verifier with this task, was never defined. */
export class UndefinedTaskError extends InputError {
  constructor({ task, verifier }: JudgedTask) {
    super('task.undefined', `task ${task} is not defined with the verifier ${verifier}; define it first`);
  }
}

/**
 * Tasks that were played, their verifiers, and what is known of each task with its verifier: the first baseline and the latest report on its
 * soundness. A change is durable when its method has resolved. Each method throws InfrastructureError when the store fails or is too slow; whether
 * the change was made is then unknown.
 */
export interface TaskRecords {
  /** Defining a task again changes nothing. Defining it with another verifier adds that verifier. */
  define(task: TaskDefinition): Promise<void>;

  /** Finds the task with the verifier that was defined last. */
  find(digest: TaskDigest): Promise<DefinedTask | undefined>;

  /** Stores the baseline unless there is one. @returns the stored baseline. @throws UndefinedTaskError */
  keepBaseline(judged: JudgedTask, baseline: Baseline): Promise<Baseline>;

  findBaseline(judged: JudgedTask): Promise<Baseline | undefined>;

  /** Replaces the previous report. @throws UndefinedTaskError */
  keepSoundness(judged: JudgedTask, report: Soundness): Promise<void>;

  findSoundness(judged: JudgedTask): Promise<Soundness | undefined>;
}
