import { raceWithAbort } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { ACTION_NAMES, type ActionName, readAction } from '../../actions/action.ts';
import { ActionExecutor, describeMisfit, SHOWN_TO_AGENTS } from '../../actions/action-executor.ts';
import { ACTION_TOOLS } from '../../actions/action-tools.ts';
import { toObservation } from '../../actions/observation-text.ts';
import { describeOwnTool, readToolCall } from '../../actions/own-tool.ts';
import type { EndCause, EpisodeLimits } from '../../arena/episode-state.ts';
import { cleanEnvironment } from '../../grading/clean-environment.ts';
import type { StopReason } from '../../rollouts/record/trajectory.ts';
import type { Task } from '../../tasks/task.ts';
import { AGENT_SECONDS, type Acted, type OpenWorkspace, type PerformedAction } from '../acted/acted.ts';
import type { EpisodeOffers, EpisodeOpening } from './episode-offers.ts';
import type { ExternalAgent } from './external-agent.ts';
import { ExternalEpisode, isOutOfMemory, type Performed } from './external-episode.ts';
import type { OpenStep } from '../../grading/make-submission.ts';

export interface ExternalContext extends OpenWorkspace {
  readonly clock: Clock;
  readonly offers: EpisodeOffers;
}

/**
 * Offers the episode to agents outside of Muster, and lets one act in the workspace until it submits or a limit is reached. As for a model, the
 * task's time runs only while actions are carried out.
 *
 * @param seed of the agent. @throws InfrastructureError `agent.absent` when no agent comes, or when the workspace is lost; the signal's reason.
 */
export async function playExternal(
  open: OpenStep,
  agent: ExternalAgent,
  seed: number,
  { session, changes, clock, offers }: ExternalContext,
  signal: AbortSignal,
): Promise<Omit<Acted, 'submission'>> {
  const actions = new ExternalActions(open.task, { session, changes, signal });
  using episode = new ExternalEpisode({
    opening: describeOpening(open, agent, seed),
    patienceSeconds: agent.patienceSeconds,
    address: offers.address,
    clock,
    perform: (body, seconds) => actions.perform(body, seconds),
  });
  using _offer = offers.offer(episode);
  const cause = await raceWithAbort(episode.ended, signal);
  const { performed, hasMemory } = actions;
  return { actions: performed.length, performed, stopReason: hasMemory ? toStopReason(cause) : 'out-of-memory', course: undefined };
}

/** Carries out what an agent sends in the workspace. */
class ExternalActions {
  readonly #task: Task;
  readonly #parts: OpenWorkspace & { readonly signal: AbortSignal };
  readonly #executor: ActionExecutor;
  readonly performed: PerformedAction[] = [];
  hasMemory = true;

  constructor(task: Task, parts: OpenWorkspace & { readonly signal: AbortSignal }) {
    const { workdir, environment } = task.workspace;
    this.#task = task;
    this.#parts = parts;
    this.#executor = new ActionExecutor(parts.session, {
      workdir,
      environment: cleanEnvironment(environment),
      output: SHOWN_TO_AGENTS,
    });
  }

  async perform(body: unknown, seconds: number): Promise<Performed> {
    const { changes, signal } = this.#parts;
    const { tools } = this.#task.arena;
    const names = tools.map(({ name }) => name);
    const read = readToolCall(body, tools) ?? readAction(body, listActions(this.#task), names);
    if (read.kind === 'misfit') return { observation: describeMisfit(read.misfit), bytesWritten: 0 };
    const { observation, bytesWritten, effect } =
      read.kind === 'tool'
        ? await this.#executor.callTool(read.call, seconds, signal)
        : await this.#executor.perform(read.action, seconds, signal);
    const action = read.kind === 'tool' ? read.call : read.action;
    const diff = await changes.after(effect, signal);
    this.performed.push({ turn: this.performed.length, call: null, action, text: observation.text, diff });
    this.hasMemory = !isOutOfMemory(observation);
    return { observation, bytesWritten };
  }
}

/** An agent may always submit. */
function listActions({ arena: { actions } }: Task): readonly ActionName[] {
  return ACTION_NAMES.filter((each) => each === 'submit' || (actions?.includes(each) ?? true));
}

function describeOpening({ task, step }: OpenStep, { steps, idleSeconds }: ExternalAgent, seed: number): EpisodeOpening {
  const allowed: readonly string[] = listActions(task);
  const seconds = step.agent.timeoutSeconds ?? AGENT_SECONDS;
  // The sandbox bounds what is written, and the agent's own model what it can read.
  const limits: EpisodeLimits = { steps, seconds, bytesWritten: Number.MAX_SAFE_INTEGER, output: Number.MAX_SAFE_INTEGER, idleSeconds };
  return {
    task: task.id,
    seed,
    observation: toObservation({ kind: 'task', instruction: step.instruction, workdir: task.workspace.workdir }),
    limits,
    actions: [...ACTION_TOOLS.filter(({ name }) => allowed.includes(name)), ...task.arena.tools.map(describeOwnTool)],
  };
}

function toStopReason(cause: EndCause): StopReason {
  switch (cause) {
    case 'submit':
      return 'submitted';
    case 'steps':
      return 'turns';
    case 'seconds':
    case 'expired':
      return 'time';
    case 'bytes':
    case 'output':
      return 'context';
    case 'abandoned':
    case 'lost':
      return 'cancelled';
  }
}
