import { describeMisfit } from '../../agents/actions/action-executor.ts';
import { readAction, type ReadAction } from '../../agents/actions/action.ts';
import { readToolCall, type ReadToolCall } from '../../agents/actions/own-tool.ts';
import { escapeText } from '../../agents/actions/escaped-text.ts';
import { toObservation } from '../../agents/actions/observation-text.ts';
import type { StepDelta } from '../../agents/arena/step-files.ts';
import { countSharedSteps, getTree } from '../../agents/arena/shared-steps.ts';
import type { StoredAgentEpisode } from '../../agents/arena/trajectories.ts';
import type { Submission } from '../../agents/grading/submission.ts';
import type { FileRefusal } from '../../agents/workspace/command.ts';
import { CountedTime } from '../../agents/workspace/counted-time.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { CommandStarts } from './command-starts.ts';
import { NOTHING_CHANGED, toActed, type Acted } from './episode-course.ts';
import { EpisodeWorkspace, type WorkspaceParts } from './episode-workspace.ts';
import type { PlayableTask } from './playable-task.ts';

export interface StageParts extends WorkspaceParts {
  readonly clock: Clock;
  readonly closing: AbortSignal;
  /** @returns undefined when the task no longer exists. */
  readonly findTask: (name: string) => Promise<PlayableTask | undefined>;
  readonly starts: CommandStarts;
}

/** The task and the file changes of an episode; undefined when the files of a step were not stored. */
export interface Restorable {
  readonly episode: StoredAgentEpisode;
  readonly deltas: () => Promise<readonly StepDelta[] | undefined>;
}

/** The files of an episode are no longer available, or its task has changed. */
export class UnrestorableError extends InfrastructureError {
  constructor() {
    super('episode.unrestorable', 'its workspace is lost, and its files were not kept, or its task has changed');
  }
}

/** How often a step is carried out whose workspace is lost meanwhile. */
const ATTEMPTS = 3;
const PROCESSES_GONE = 'The workspace was made again from the files of the last step: processes that ran in it are gone.';

/** The workspace of one episode, made again whenever it is lost. Its methods must be called one after the other. */
export class EpisodeStage implements AsyncDisposable {
  readonly #parts: StageParts;
  #workspace: EpisodeWorkspace | undefined;
  /** Whether an agent has acted in a workspace that this one replaces. */
  #isReplaced = false;
  readonly #counted = new CountedTime();

  constructor(parts: StageParts) {
    this.#parts = parts;
  }

  /** Carries an action out. @throws UnrestorableError; InfrastructureError. */
  async act(asked: Restorable, seconds: number, body: unknown): Promise<Acted> {
    const read = await this.#read(asked.episode, body);
    if (read.kind === 'misfit') return toActed(describeMisfit(read.misfit), NOTHING_CHANGED, null, 0, 0);
    if (read.kind === 'action' && read.action.action === 'submit')
      return toActed(toObservation({ kind: 'submitted' }), NOTHING_CHANGED, null, 0, 0, true);
    const { clock, closing, starts } = this.#parts;
    for (let attempt = 1; ; attempt += 1) {
      const workspace = await this.open(asked);
      using _place = beginsCommand(read) ? await starts.enter(closing) : undefined;
      const [began, waitedBefore] = [clock.now(), workspace.waitedSeconds];
      try {
        const { observation, bytesWritten, delta, refusal } = await workspace.perform(read, seconds);
        const elapsed = Math.ceil(this.#counted.count(clock.now() - began, workspace.waitedSeconds - waitedBefore)) / 1000;
        const notices = [...(this.#isReplaced ? [PROCESSES_GONE] : []), ...(refusal ? [describeUnstored(refusal)] : [])];
        const notice = notices.length === 0 ? null : notices.join(' ');
        this.#isReplaced = false;
        return toActed(observation, delta, notice, elapsed, bytesWritten);
      } catch (error) {
        await this.leave();
        if (closing.aborted || attempt === ATTEMPTS || !(error instanceof InfrastructureError)) throw error;
      }
    }
  }

  /** The task is read only where the action is none of Muster's own. */
  async #read(episode: StoredAgentEpisode, body: unknown): Promise<ReadAction | ReadToolCall> {
    const read = readAction(body, episode.actions);
    if (read.kind === 'action' || read.misfit.reason === 'malformed') return read;
    const tools = (await this.findTask(episode))?.task.arena.tools ?? [];
    return (
      readToolCall(body, tools) ??
      readAction(
        body,
        episode.actions,
        tools.map(({ name }) => name),
      )
    );
  }

  /**
   * Opens the present workspace, or a new one in the state after the steps.
   *
   * @param known the episode's task, if it has just been read. @throws UnrestorableError; InfrastructureError.
   */
  async open({ episode, deltas }: Restorable, known?: PlayableTask): Promise<EpisodeWorkspace> {
    if (this.#workspace && !this.#workspace.isLost) return this.#workspace;
    await this.leave();
    const [task, kept] = [known ?? (await this.findTask(episode)), await deltas()];
    if (task === undefined || kept === undefined) throw new UnrestorableError();
    const state = { open: task, deltas: kept, tree: getTree(episode) };
    const workspace = await EpisodeWorkspace.open(state, this.#parts, this.#parts.closing);
    if (workspace === undefined) throw new UnrestorableError();
    this.#workspace = workspace;
    this.#isReplaced = kept.length > countSharedSteps(episode.origin);
    return workspace;
  }

  /** Ends everything that runs in the workspace, and leaves it. @throws UnrestorableError; InfrastructureError. */
  async exportSubmission(asked: Restorable): Promise<{ readonly task: PlayableTask; readonly submission: Submission }> {
    const task = await this.findTask(asked.episode);
    if (task === undefined) throw new UnrestorableError();
    const submission = await (await this.open(asked)).submission();
    await this.leave();
    return { task, submission };
  }

  async leave(): Promise<void> {
    const workspace = this.#workspace;
    this.#workspace = undefined;
    await workspace?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave();
  }

  /** Returns the task as it was when the episode began; undefined when it has changed since. */
  async findTask({ task, taskDigest }: StoredAgentEpisode): Promise<PlayableTask | undefined> {
    const found = await this.#parts.findTask(task);
    return found?.task.digest === taskDigest ? found : undefined;
  }
}

function describeUnstored({ path, detail }: FileRefusal): string {
  return `The files of this step are not stored: ${escapeText(path)} ${detail}. As long as that is so, the episode ends as void when its workspace is lost.`;
}

function beginsCommand(read: Exclude<ReadAction | ReadToolCall, { readonly kind: 'misfit' }>): boolean {
  return read.kind === 'tool' || read.action.action === 'run';
}
