import { randomBytes } from 'node:crypto';
import { toDefinition, toJudgedTask } from '../../agents/arena/task-definition.ts';
import type { Baseline, TaskRecords } from '../../agents/arena/task-records.ts';
import { sumCpuSeconds } from '../../agents/arena/time-share.ts';
import { makeSubmission } from '../../agents/grading/make-submission.ts';
import { findUnsound } from '../../agents/grading/soundness.ts';
import { measureStyle } from '../../agents/grading/measure-style.ts';
import type { StyleRule } from '../../agents/tasks/arena-rules.ts';
import type { Measured } from '../../agents/arena/graded-episode.ts';
import type { GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import type { Submission } from '../../agents/grading/submission.ts';
import type { KnownSubmission, Task } from '../../agents/tasks/task.ts';
import type { TaskDigest } from '../../agents/tasks/task-ids.ts';
import type { Verdict } from '../../agents/verification/verdict.ts';
import { InputError, getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { PlayableTask } from './playable-task.ts';

export interface MeasurementParts {
  readonly tasks: TaskRecords;
  readonly getSandboxes: (open: PlayableTask) => GradingSandboxes;
  readonly grade: (open: PlayableTask, submission: Submission, seed: string, signal: AbortSignal) => Promise<Verdict>;
  readonly log: Log;
  readonly closing: AbortSignal;
}

/** Measures what a verdict does not contain. A task's baseline is measured once for the task and its verifier, on first use. */
export class SubmissionMeasurements {
  readonly #parts: MeasurementParts;
  readonly #defined = new Map<TaskDigest, Promise<void>>();
  readonly #taking = new Map<TaskDigest, Promise<Baseline | undefined>>();

  constructor(parts: MeasurementParts) {
    this.#parts = parts;
  }

  /** Stores the task, once. @throws InfrastructureError */
  async define(task: Task): Promise<void> {
    const known = this.#defined.get(task.digest);
    if (known !== undefined) return await known;
    const defining = this.#parts.tasks.define(toDefinition(task));
    this.#defined.set(task.digest, defining);
    try {
      await defining;
    } catch (error) {
      this.#defined.delete(task.digest);
      throw error;
    }
  }

  /** @throws InputError `task.unsound` when the last check of the task with its verifier found it so; InfrastructureError. */
  async assertSound(task: Task): Promise<void> {
    const report = await this.#parts.tasks.findSoundness(toJudgedTask(task));
    const found = report && findUnsound(report);
    if (found === undefined) return;
    // Its detail may quote a hidden case, and agents read this.
    const { role, name, rewards, expected } = found;
    const problem = `task ${task.id} is not sound: its ${role === name ? role : `${role} ${name}`} scored ${rewards.join(', ')}, expected ${expected}`;
    const remedy = '"muster task check" says why; correct the task or its verifier, then run "muster task check --keep"';
    throw new InputError('task.unsound', `${problem}; ${remedy}`);
  }

  /** @throws InfrastructureError; InputError; the reason of closing. */
  async measure(open: PlayableTask, submission: Submission): Promise<Measured> {
    const { time, style } = open.task.arena;
    return {
      baseline: time === 'measured' ? await this.#findBaseline(open) : undefined,
      style: style === undefined ? null : await this.#measureStyle(open, submission, style),
    };
  }

  async #measureStyle({ task, content }: PlayableTask, submission: Submission, rule: StyleRule): Promise<number | null> {
    const { getSandboxes, closing, log } = this.#parts;
    const grading = { task, step: task.steps[0], content, submission };
    const style = await measureStyle(grading, rule, { sandboxes: getSandboxes({ task, content }) }, closing);
    if (style === null)
      log.warn({ task: task.id, command: rule.command }, "a task's linter did not end by itself, so that style does not count");
    return style;
  }

  /** Returns undefined for a task without a solution, or whose solution does not get the whole reward. */
  async #findBaseline(open: PlayableTask): Promise<Baseline | undefined> {
    const { digest } = open.task;
    const taking = this.#taking.get(digest) ?? this.#take(open).finally(() => this.#taking.delete(digest));
    this.#taking.set(digest, taking);
    const baseline = await taking;
    return baseline?.reward === 1 ? baseline : undefined;
  }

  async #take(open: PlayableTask): Promise<Baseline | undefined> {
    const { tasks, log } = this.#parts;
    const { task } = open;
    if (task.oracle === undefined) return undefined;
    const judged = toJudgedTask(task);
    const known = await tasks.findBaseline(judged);
    if (known !== undefined) return known;
    await this.define(task);
    const seed = randomBytes(16).toString('hex');
    const verdict = await this.#judge(open, task.oracle, seed);
    if (verdict === undefined || verdict.reward === null) return undefined;
    if (verdict.reward !== 1) log.warn({ task: task.id, reward: verdict.reward }, "a task's own solution does not get the whole reward");
    const effort = { cpuSeconds: sumCpuSeconds(verdict), steps: countSteps(task, task.oracle) };
    return await tasks.keepBaseline(judged, { reward: verdict.reward, seed, ...effort });
  }

  /** Returns undefined when the solution cannot be made. */
  async #judge(open: PlayableTask, oracle: KnownSubmission, seed: string): Promise<Verdict | undefined> {
    const { getSandboxes, grade, log, closing } = this.#parts;
    const { task, content } = open;
    try {
      const submission = await makeSubmission({ task, step: task.steps[0], content }, oracle, getSandboxes(open), closing);
      return await grade(open, submission, seed, closing);
    } catch (error) {
      if (closing.aborted) throw error;
      log.warn({ task: task.id, error: getMessage(error) }, "a task's own solution could not be graded");
      return undefined;
    }
  }
}

/** Counts the fewest steps with the same effect: one for each file, or one that runs the script, and the submission. */
function countSteps({ files }: Task, { kind, directory }: KnownSubmission): number {
  return 1 + (kind === 'script' ? 1 : files.filter(({ path }) => path.startsWith(`${directory}/`)).length);
}
