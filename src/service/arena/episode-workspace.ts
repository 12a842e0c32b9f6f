import { ActionExecutor, SHOWN_TO_AGENTS, type Effect } from '../../agents/actions/action-executor.ts';
import type { Action } from '../../agents/actions/action.ts';
import type { ToolCall } from '../../agents/actions/own-tool.ts';
import type { Observation } from '../../agents/actions/observation.ts';
import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import { keepDelta, restoreEntries, type FileContents, type StepDelta } from '../../agents/arena/step-files.ts';
import { cleanEnvironment } from '../../agents/grading/clean-environment.ts';
import { exportSubmission } from '../../agents/grading/export-submission.ts';
import { describeGradingTemplate } from '../../agents/grading/grading-template.ts';
import type { GradingSandbox, GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import type { Submission } from '../../agents/grading/submission.ts';
import type { TaskStep } from '../../agents/tasks/task.ts';
import type { FileRefusal, WorkspaceFile } from '../../agents/workspace/command.ts';
import type { FileResult } from '../../agents/workspace/file-answers.ts';
import {
  joinDeltas,
  readChanges,
  markWorkspace,
  restoreWorkspace,
  type WorkspaceEntry,
  type WorkspaceDelta,
  selectInside,
} from '../../agents/workspace/workspace-snapshots.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { BroughtFiles } from './brought-files.ts';
import type { PlayableTask } from './playable-task.ts';

export interface WorkspaceParts {
  /** Returns the sandboxes in which a task is played. */
  readonly getSandboxes: (open: PlayableTask) => GradingSandboxes;
  readonly contents: FileContents;
  readonly brought: BroughtFiles;
}

/** The result of an action in a workspace. */
export interface Performed {
  readonly observation: Observation;
  /** Applies to the action itself; the sandbox bounds what a command writes. */
  readonly bytesWritten: number;
  /** The action's changes of files; undefined where they cannot be stored. */
  readonly delta: StepDelta | undefined;
  /** Why they cannot be stored. */
  readonly refusal?: FileRefusal;
}

/** What an episode's workspace is made of. */
export interface WorkspaceState {
  readonly open: PlayableTask;
  readonly deltas: readonly StepDelta[];
  readonly tree: AgentEpisodeId;
}

const NOTHING: WorkspaceDelta = { entries: [], removed: [] };

/** The workspace of one episode while this process holds it. */
export class EpisodeWorkspace implements AsyncDisposable {
  readonly #sandbox: GradingSandbox;
  readonly #signal: AbortSignal;
  readonly #executor: ActionExecutor;
  readonly #contents: FileContents;
  readonly #kept: readonly string[];
  readonly #step: TaskStep;
  readonly #tree: AgentEpisodeId;
  /** Whether the changes of the last action could not be read. They are read with those of the next one. */
  #isBehind = false;

  private constructor(
    sandbox: GradingSandbox,
    signal: AbortSignal,
    { open: { task }, tree }: WorkspaceState,
    contents: FileContents,
    kept: readonly string[],
  ) {
    const { workdir, environment } = task.workspace;
    this.#sandbox = sandbox;
    this.#signal = signal;
    const terms = { workdir, environment: cleanEnvironment(environment), output: SHOWN_TO_AGENTS, watched: kept };
    this.#executor = new ActionExecutor(sandbox.session, terms);
    this.#contents = contents;
    this.#kept = kept;
    this.#tree = tree;
    [this.#step] = task.steps;
  }

  /**
   * Makes a workspace in the state after the episode's steps.
   *
   * @param signal ends its work at any time. @returns undefined when some of its files are no longer stored. @throws InputError when the task's
   * workspace cannot be made; InfrastructureError; the signal's reason.
   */
  static async open(
    state: WorkspaceState,
    { getSandboxes, contents, brought: broughtFiles }: WorkspaceParts,
    signal: AbortSignal,
  ): Promise<EpisodeWorkspace | undefined> {
    const { task } = state.open;
    const template = describeGradingTemplate(task, task.steps[0], []);
    const sandboxes = getSandboxes(state.open);
    const brought = (await broughtFiles.read(state.open, signal)).map(toKeptFile);
    const entries = state.deltas.length === 0 ? brought : await restoreEntries(brought, state.deltas, contents, state.tree);
    if (entries === undefined) return undefined;
    await using opening = new AsyncDisposableStack();
    const sandbox = opening.use(await sandboxes.open(template, signal));
    const either = AbortSignal.any([signal, sandbox.signal]);
    const restored = await restoreWorkspace(sandbox.session, entries, either);
    const marked = await markWorkspace(sandbox.session, template.writable, either);
    for (const asked of [restored, marked])
      if (asked.kind === 'refused')
        throw new InfrastructureError('episode.workspace', `a workspace cannot be made: ${asked.refusal.path}: ${asked.refusal.detail}`);
    const workspace = new EpisodeWorkspace(sandbox, either, state, contents, template.writable);
    opening.move();
    return workspace;
  }

  /** Whether nothing can be done in it any more. */
  get isLost(): boolean {
    return this.#sandbox.signal.aborted || this.#sandbox.session.exit !== undefined;
  }

  /** Seconds for which a busy machine has kept its commands from running so far. */
  get waitedSeconds(): number {
    return this.#sandbox.session.waitedSeconds;
  }

  async perform(
    asked: { readonly kind: 'action'; readonly action: Action } | { readonly kind: 'tool'; readonly call: ToolCall },
    seconds: number,
  ): Promise<Performed> {
    const { observation, bytesWritten, effect } =
      asked.kind === 'action'
        ? await this.#executor.perform(asked.action, seconds, this.#signal)
        : await this.#executor.callTool(asked.call, seconds, this.#signal);
    const { isLost } = this;
    const changes: FileResult<WorkspaceDelta> = isLost ? { kind: 'given', result: NOTHING } : await this.#findChanges(effect);
    const catchesUp = this.#isBehind && !isLost ? { catchesUp: true as const } : {};
    this.#isBehind = changes.kind === 'refused';
    if (changes.kind === 'refused') return { observation, bytesWritten, delta: undefined, refusal: changes.refusal };
    return { observation, bytesWritten, delta: { ...(await keepDelta(changes.result, this.#contents, this.#tree)), ...catchesUp } };
  }

  /** Ends everything that runs in it. */
  submission(): Promise<Submission> {
    return exportSubmission(this.#sandbox.session, this.#step.artifacts, this.#signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sandbox[Symbol.asyncDispose]();
  }

  /** The workspace is scanned only where programs have run in it, or the last scan was refused. */
  async #findChanges({ delta, isOpen, changes: read }: Effect): Promise<FileResult<WorkspaceDelta>> {
    const own = selectInside(delta, this.#kept);
    if (!isOpen && !this.#isBehind) return { kind: 'given', result: own };
    const changes = read ?? (await readChanges(this.#sandbox.session, this.#kept, this.#signal));
    return changes.kind === 'refused' ? changes : { kind: 'given', result: joinDeltas(own, changes.result) };
  }
}

function toKeptFile({ path, content, executable }: WorkspaceFile): WorkspaceEntry {
  return { kind: 'file', path, content, executable };
}
