import type { Submission } from '../../grading/submission.ts';
import type { StopReason, Trajectory } from '../../rollouts/record/trajectory.ts';
import type { Segment } from '../../rollouts/record/sampled-tokens.ts';
import type { Tool } from '../../actions/action-tools.ts';
import type { WorkspaceDiff } from '../../arena/workspace-diff.ts';
import { cleanEnvironment } from '../../grading/clean-environment.ts';
import { readEnding, SHOWN_OUTPUT, joinStreams } from '../../grading/endings.ts';
import type { WorkspaceSession } from '../../workspace/workspace-session.ts';
import type { WorkspaceChanges } from './workspace-changes.ts';
import type { OpenStep } from '../../grading/make-submission.ts';

/** The limit of tasks that set none. */
export const AGENT_SECONDS = 600;

/** The workspace of a step, while an agent acts in it. */
export interface OpenWorkspace {
  readonly session: WorkspaceSession;
  /** Called with each action. */
  readonly changes: WorkspaceChanges;
}

/** An action that was carried out. */
export interface PerformedAction {
  /** Turn of the model, position in it, and id of its call; position and id are null when no model requested it. */
  readonly turn: number;
  readonly call: string | null;
  readonly action: object;
  /** The text of the observation. */
  readonly text: string;
  readonly diff: WorkspaceDiff | undefined;
}

/** The result of an agent's actions. */
export interface Acted {
  /**
   * It is undefined when there is nothing to grade: the workspace has run out of memory, the model's server refuses to continue the conversation,
   * or the program is broken.
   */
  readonly submission: Submission | undefined;
  /** The refusal of a model's server, or the error of a broken program; undefined when there was none. */
  readonly refusal?: string | undefined;
  /** The number of actions that were carried out. */
  readonly actions: number;
  /** It is left out by an agent that acts by itself, and where there is nothing to show. */
  readonly performed?: readonly PerformedAction[];
  /** Changes besides theirs. */
  readonly rest?: WorkspaceDiff | undefined;
  readonly stopReason: StopReason;
  /** The output of a program, for people. */
  readonly printed?: string;
  /** The messages that a model received and answered. It is undefined for agents without one. */
  readonly course: ModelCourse | undefined;
}

export interface ModelCourse extends Pick<Trajectory, 'model' | 'turns'> {
  readonly tools: readonly Tool[];
  readonly prompt: readonly Trajectory['prompt'][number][];
  readonly segments: readonly Segment[];
  readonly modelSeconds: number;
  readonly actionSeconds: number;
  /** Whether a program has changed or left out what stood in the conversation before. */
  readonly isRewritten?: boolean;
}

const SETUP = 'setup.sh';

/**
 * Lays the files of the step's own `workdir/` over the workdir, and runs the `setup.sh` among them.
 *
 * @returns why the step cannot begin. @throws InfrastructureError; the signal's reason.
 */
export async function enterStep(
  session: WorkspaceSession,
  { task, step, content }: OpenStep,
  signal: AbortSignal,
): Promise<string | undefined> {
  const prefix = `${step.directory}workdir/`;
  const { workdir, environment } = task.workspace;
  const own = step.directory === '' ? [] : task.files.filter(({ path }) => path.startsWith(prefix));
  if (own.length === 0) return undefined;
  const files = own.map(async ({ path, isExecutable }) => ({
    path: `${workdir}/${path.slice(prefix.length)}`,
    content: await content.read(path),
    executable: isExecutable,
  }));
  await session.put(await Promise.all(files), signal);
  if (!own.some(({ path }) => path === `${prefix}${SETUP}`)) return undefined;
  const seconds = step.agent.timeoutSeconds ?? AGENT_SECONDS;
  const argv = ['/bin/bash', `${workdir}/${SETUP}`];
  const result = await session.run(
    { argv, directory: workdir, environment: cleanEnvironment(environment), seconds, output: SHOWN_OUTPUT },
    signal,
  );
  if (result.end.kind === 'exited' && result.end.code === 0) return undefined;
  return `${prefix}${SETUP} failed (${readEnding(result.end).kind}): ${joinStreams(result).slice(-500)}`;
}
