import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { pino } from 'pino';
import { readSubmission } from '../../adapters/tasks/submission-files.ts';
import { readTaskContent } from '../../adapters/tasks/task-content.ts';
import { readTaskDirectory } from '../../adapters/tasks/task-files.ts';
import type { TaskContent } from '../../agents/grading/grading-context.ts';
import type { GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import type { Submission } from '../../agents/grading/submission.ts';
import { takeVerdict } from '../../agents/grading/stages/take-verdict.ts';
import { readTask } from '../../agents/tasks/read-task.ts';
import type { Task, TaskStep } from '../../agents/tasks/task.ts';
import { parseTaskDigest } from '../../agents/tasks/task-ids.ts';
import type { Config } from '../../config/config.ts';
import { systemClock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import { GradingPools } from './grading-pools.ts';
import type { GradedSubmission } from '../../faces/report/grading/graded-submission.ts';

/** A task with the directory that it was read from. */
export interface OpenTask {
  readonly task: Task;
  readonly content: TaskContent;
}

const NO_TASK = parseTaskDigest(`sha256:${'0'.repeat(64)}`);

export interface VerifyOptions {
  /** Name of the step; the first one when there is only one. */
  readonly step?: string | undefined;
  /** Seed of an earlier verdict, to repeat it; drawn when left out. */
  readonly seed?: string | undefined;
  readonly onStage?: (stage: string) => void;
}

/** A verdict, with what is needed to repeat it. */
export type TakenVerdict = GradedSubmission;

/** @throws InputError when the directory holds no task. */
export async function openTask(directory: string): Promise<OpenTask> {
  const task = readTask(await readTaskDirectory(directory));
  return { task, content: readTaskContent(directory, task) };
}

/** Grades submissions on this machine. Part of the composition root. */
export class TaskGrader implements AsyncDisposable {
  readonly #pools: GradingPools;

  constructor(config: Config) {
    const log = pino({ level: config.log.level, base: null }, pino.destination({ fd: 2, sync: true }));
    this.#pools = new GradingPools(config, systemClock, log);
  }

  /** Returns the sandboxes in which submissions to one task are made and graded. */
  getSandboxes(open: OpenTask): GradingSandboxes {
    return this.#pools.getSandboxes(open);
  }

  /** Sandboxes with this machine's own root file system, for work before there is a task. */
  get hostSandboxes(): GradingSandboxes {
    return this.#pools.getSandboxes({
      task: { digest: NO_TASK, files: [] },
      content: { read: (path) => Promise.reject(new RangeError(`${path} of no task`)) },
    });
  }

  /** The number of verdicts that this machine takes at a time. */
  get concurrency(): number {
    return availableParallelism();
  }

  /**
   * Grades the artifacts in a directory.
   *
   * @throws InputError when task or directory are wrong; the signal's reason.
   */
  async verify(open: OpenTask, directory: string, options: VerifyOptions, signal: AbortSignal): Promise<TakenVerdict> {
    const step = getStep(open.task, options.step);
    return await this.grade(open, step, await readSubmission(directory, step.artifacts), options, signal);
  }

  /** Grades a submission. */
  async grade(
    open: OpenTask,
    step: TaskStep,
    submission: Submission,
    { seed = randomBytes(16).toString('hex'), onStage }: VerifyOptions,
    signal: AbortSignal,
  ): Promise<TakenVerdict> {
    const { task, content } = open;
    const context = { sandboxes: this.#pools.getSandboxes(open), clock: systemClock, ...(onStage ? { onStage } : {}) };
    const verdict = await takeVerdict({ task, step, content, submission, seed }, context, signal);
    return { task: { id: task.id, digest: task.digest, step: step.name }, seed, verdict };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pools[Symbol.asyncDispose]();
  }
}

function getStep({ id, steps }: Task, name: string | undefined): TaskStep {
  const names = steps.map((step) => step.name).join(', ');
  const found = name === undefined ? (steps.length === 1 ? steps[0] : undefined) : steps.find((step) => step.name === name);
  if (found) return found;
  throw new InputError(
    'task.step',
    name === undefined ? `task ${id} has the steps ${names}; choose one with --step` : `task ${id} has no step "${name}"; it has ${names}`,
  );
}
