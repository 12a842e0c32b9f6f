import { ActionExecutor, SHOWN_TO_AGENTS, type Performed } from '../../agents/actions/action-executor.ts';
import type { Action } from '../../agents/actions/action.ts';
import { keepDelta, restoreEntries, type FileContents, type StepDelta } from '../../agents/arena/step-files.ts';
import { cleanEnvironment } from '../../agents/grading/clean-environment.ts';
import { exportSubmission } from '../../agents/grading/export-submission.ts';
import { describeGradingPlace, listWorkdirFiles } from '../../agents/grading/grading-place.ts';
import type { TaskContent } from '../../agents/grading/grading-context.ts';
import type { GradingSandbox, GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import type { Submission } from '../../agents/grading/submission.ts';
import type { Task, TaskStep } from '../../agents/tasks/task.ts';
import { readChanges, markWorkspace, restoreWorkspace, type KeptEntry } from '../../agents/workspace/workspace-snapshots.ts';
import { InfrastructureError } from '../../kernel/errors.ts';

export interface PlayableTask {
  readonly task: Task;
  readonly content: TaskContent;
}

export interface WorkspaceParts {
  /** In which a task is played. */
  readonly sandboxesOf: (open: PlayableTask) => GradingSandboxes;
  readonly contents: FileContents;
}

/** The workspace of one episode while this process has it. */
export class EpisodeWorkspace implements AsyncDisposable {
  readonly #sandbox: GradingSandbox;
  readonly #executor: ActionExecutor;
  readonly #contents: FileContents;
  readonly #kept: readonly string[];
  readonly #step: TaskStep;

  private constructor(sandbox: GradingSandbox, { task }: PlayableTask, contents: FileContents, kept: readonly string[]) {
    const { workdir, environment } = task.workspace;
    this.#sandbox = sandbox;
    this.#executor = new ActionExecutor(sandbox.session, { workdir, environment: cleanEnvironment(environment), output: SHOWN_TO_AGENTS });
    this.#contents = contents;
    this.#kept = kept;
    [this.#step] = task.steps;
  }

  /**
   * A workspace as the steps of the episode have left it.
   *
   * @throws InputError when the task's place cannot be made; InfrastructureError; the signal's reason.
   */
  static async open(
    open: PlayableTask,
    deltas: readonly StepDelta[],
    { sandboxesOf, contents }: WorkspaceParts,
    signal: AbortSignal,
  ): Promise<EpisodeWorkspace> {
    const { task, content } = open;
    const place = describeGradingPlace(task, task.steps[0], []);
    const sandboxes = sandboxesOf(open);
    const files = await listWorkdirFiles(task, content, sandboxes, signal);
    const brought = files.map((file): KeptEntry => ({ kind: 'file', path: file.path, content: file.content, executable: file.executable }));
    const entries = deltas.length === 0 ? brought : await restoreEntries(brought, deltas, contents);
    await using opening = new AsyncDisposableStack();
    const sandbox = opening.use(await sandboxes.open(place, signal));
    const either = AbortSignal.any([signal, sandbox.signal]);
    const restored = await restoreWorkspace(sandbox.session, entries, either);
    const marked = await markWorkspace(sandbox.session, place.writable, either);
    for (const asked of [restored, marked])
      if (asked.kind === 'refused')
        throw new InfrastructureError('episode.workspace', `a workspace cannot be made: ${asked.refusal.path}: ${asked.refusal.detail}`);
    const workspace = new EpisodeWorkspace(sandbox, open, contents, place.writable);
    opening.move();
    return workspace;
  }

  /** Whether nothing can be done in it any more. */
  get isLost(): boolean {
    return this.#sandbox.signal.aborted || this.#sandbox.session.exit !== undefined;
  }

  perform(action: Action, seconds: number, signal: AbortSignal): Promise<Performed> {
    return this.#executor.perform(action, seconds, this.#either(signal));
  }

  /** What has changed since the last time; undefined where that cannot be kept. */
  async delta(signal: AbortSignal): Promise<StepDelta | undefined> {
    const changes = await readChanges(this.#sandbox.session, this.#kept, this.#either(signal));
    return changes.kind === 'refused' ? undefined : await keepDelta(changes.result, this.#contents);
  }

  /** Ends everything that runs in it. */
  submission(signal: AbortSignal): Promise<Submission> {
    return exportSubmission(this.#sandbox.session, this.#step.artifacts, this.#either(signal));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sandbox[Symbol.asyncDispose]();
  }

  #either(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#sandbox.signal]);
  }
}
