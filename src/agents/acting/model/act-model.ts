import type { Clock } from '../../../kernel/clock.ts';
import { ActionExecutor, describeMisfit, SHOWN_TO_AGENTS } from '../../actions/action-executor.ts';
import type { OwnTool } from '../../actions/own-tool.ts';
import type { Observation } from '../../actions/observation.ts';
import { cleanEnvironment } from '../../grading/clean-environment.ts';
import type { StopReason } from '../../rollouts/record/trajectory.ts';
import { CountedTime } from '../../workspace/counted-time.ts';
import type { WorkspaceSession } from '../../workspace/workspace-session.ts';
import { AGENT_SECONDS, type Acted, type OpenWorkspace, type PerformedAction } from '../acted/acted.ts';
import { planTurn, listTools, type PlannedCall } from './answer-turn.ts';
import type { ModelAgent } from './model-agent.ts';
import type { ChatMessage, Completion, ModelEndpoint } from './model-endpoint.ts';
import { TurnRecord } from './turn-record.ts';
import type { OpenStep } from '../../grading/make-submission.ts';

/** Consecutive turns without a tool that end an episode: a model in that state does not recover. */
const MOST_REMARKS = 3;
const LARGEST_SEED = 2 ** 31;

export interface ModelContext extends OpenWorkspace {
  readonly clock: Clock;
  readonly endpoint: ModelEndpoint;
}

/**
 * Has a model act in a workspace, turn by turn, until it submits or a limit is reached. The task's time runs while actions are carried out, and not while
 * the model thinks or a command waits for a processor: how busy the server and the machine are changes no result.
 *
 * @param seed the seed of the sampling. @throws as `ModelEndpoint.complete`; InfrastructureError when the workspace is lost; the signal's reason.
 */
export async function playModel(
  open: OpenStep,
  agent: ModelAgent,
  seed: number,
  { session, changes, clock, endpoint }: ModelContext,
  signal: AbortSignal,
): Promise<Omit<Acted, 'submission'>> {
  const { workdir, environment } = open.task.workspace;
  const executor = new ActionExecutor(session, { workdir, environment: cleanEnvironment(environment), output: SHOWN_TO_AGENTS });
  const episode = new ModelEpisode(open, agent, seed, { executor, session, changes, clock, endpoint });
  const stopReason = await episode.play(signal);
  const { performed, refusal } = episode;
  return { actions: performed.length, performed, stopReason, refusal, course: episode.getCourse() };
}

interface EpisodeParts extends Pick<ModelContext, 'changes'> {
  readonly executor: ActionExecutor;
  readonly session: Pick<WorkspaceSession, 'waitedSeconds'>;
  readonly clock: Clock;
  readonly endpoint: ModelEndpoint;
}

class ModelEpisode {
  readonly #agent: ModelAgent;
  readonly #seed: number;
  readonly #parts: EpisodeParts;
  readonly #prompt: ReturnType<typeof composeFirstMessages>;
  readonly #messages: ChatMessage[];
  readonly #tools: ReturnType<typeof listTools>;
  readonly #own: readonly OwnTool[];
  readonly #record = new TurnRecord();
  #millisecondsLeft: number;
  readonly #counted = new CountedTime();
  #actionMs = 0;
  #modelMs = 0;
  readonly performed: PerformedAction[] = [];
  /** A refusal of the server. */
  refusal: string | undefined;

  constructor({ task, step }: OpenStep, agent: ModelAgent, seed: number, parts: EpisodeParts) {
    this.#agent = agent;
    this.#seed = seed;
    this.#parts = parts;
    this.#own = task.arena.tools;
    this.#tools = listTools(agent, this.#own);
    this.#prompt = composeFirstMessages(agent, { instruction: step.instruction, workdir: task.workspace.workdir });
    this.#messages = [...this.#prompt];
    this.#millisecondsLeft = (step.agent.timeoutSeconds ?? AGENT_SECONDS) * 1000;
  }

  /** Plays the episode. @returns why it ended. */
  async play(signal: AbortSignal): Promise<StopReason> {
    const { turns, contextTokens = Number.POSITIVE_INFINITY } = this.#agent;
    let remarks = 0;
    for (let turn = 0; turn < turns; turn += 1) {
      const completion = await this.#ask(turn, signal);
      if (typeof completion === 'string') return completion;
      const planned = planTurn(completion, this.#tools, this.#own);
      remarks = planned.kind === 'remark' ? remarks + 1 : 0;
      if (planned.kind === 'remark') this.#observe({ role: 'user', content: planned.text });
      else {
        const ended = await this.#perform(planned.calls, signal);
        if (ended) return ended;
      }
      if (remarks === MOST_REMARKS) return 'no-action';
      const { promptTokens, completionTokens } = completion.usage;
      if (promptTokens + completionTokens >= contextTokens) return 'context';
    }
    return 'turns';
  }

  getCourse(): NonNullable<Acted['course']> {
    return {
      ...this.#record.getCourse(),
      tools: this.#tools,
      prompt: this.#prompt,
      modelSeconds: this.#modelMs / 1000,
      actionSeconds: this.#actionMs / 1000,
    };
  }

  /** Asks the model. @returns the reason for the end when the conversation is too long for the model, or its server refuses it. */
  async #ask(turn: number, signal: AbortSignal): Promise<Completion | 'context' | 'refused'> {
    const { clock, endpoint } = this.#parts;
    const [startedAt, began] = [clock.date(), clock.now()];
    const seed = (this.#seed + turn) % LARGEST_SEED;
    const completion = await endpoint.complete({ messages: this.#messages, tools: this.#tools, seed }, signal);
    this.#modelMs += clock.now() - began;
    if (completion.kind === 'context-exceeded') return 'context';
    if (completion.kind === 'request-refused') {
      this.refusal = completion.detail;
      return 'refused';
    }
    const { content, reasoning, toolCalls } = completion;
    this.#messages.push({ role: 'assistant', content, reasoning, toolCalls });
    this.#record.add(completion, { startedAt, endedAt: clock.date() });
    return completion;
  }

  /** Carries out the calls of one turn in order. @returns why the episode ends with them, if it does. */
  async #perform(calls: readonly PlannedCall[], signal: AbortSignal): Promise<StopReason | undefined> {
    for (const planned of calls) {
      const observation = planned.kind === 'misfit' ? describeMisfit(planned.misfit) : await this.#carryOut(planned, signal);
      if (observation === undefined) return 'time';
      this.#observe({ role: 'tool', toolCall: planned.call.id, content: observation.text });
      if (observation.data.kind === 'submitted') return 'submitted';
      if (observation.data.kind === 'ran' && observation.data.end.kind === 'out-of-memory') return 'out-of-memory';
    }
    return this.#millisecondsLeft > 0 ? undefined : 'time';
  }

  /** Returns undefined when the task's time is over. */
  async #carryOut(planned: Exclude<PlannedCall, { kind: 'misfit' }>, signal: AbortSignal): Promise<Observation | undefined> {
    if (this.#millisecondsLeft <= 0) return undefined;
    const { clock, changes, executor, session } = this.#parts;
    const [began, waitedBefore] = [clock.now(), session.waitedSeconds];
    const seconds = this.#millisecondsLeft / 1000;
    const { observation, effect } =
      planned.kind === 'tool'
        ? await executor.callTool(planned.given, seconds, signal)
        : await executor.perform(planned.action, seconds, signal);
    const took = clock.now() - began;
    this.#millisecondsLeft -= this.#counted.count(took, session.waitedSeconds - waitedBefore);
    this.#actionMs += took;
    const action = planned.kind === 'tool' ? planned.given : planned.action;
    const diff = await changes.after(effect, signal);
    this.performed.push({ turn: this.#record.count - 1, call: planned.call.id, action, text: observation.text, diff });
    return observation;
  }

  #observe(message: Extract<ChatMessage, { role: 'user' | 'system' | 'tool' }>): void {
    this.#messages.push(message);
    this.#record.observe(message.role === 'tool' ? message.toolCall : null, message.content);
  }
}

const SYSTEM = `You work on a task in a sandbox. Its working directory is {workdir}. Use the tools to look at the files, to change them and to run commands. Each command runs in a shell of its own that begins in the working directory. Call submit when you are done: what lies in the working directory is then graded.`;

/** Composes the conversation before a model's first answer. */
function composeFirstMessages(
  { system = SYSTEM }: Pick<ModelAgent, 'system'>,
  { instruction, workdir }: { readonly instruction: string; readonly workdir: string },
): readonly { readonly role: 'system' | 'user'; readonly content: string }[] {
  return [
    { role: 'system', content: system.replaceAll('{workdir}', workdir) },
    { role: 'user', content: instruction },
  ];
}
