import { toObservation } from '../../../agents/actions/observation-text.ts';
import { computeRemaining } from '../../../agents/arena/episode-state.ts';
import { getMessage, InputError } from '../../../kernel/errors.ts';
import type { Caller } from '../../../service/access/caller.ts';
import { QuotaError } from '../../../service/access/quota-error.ts';
import type { EpisodeCalls, StartedEpisode } from '../../../service/arena/episode-service.ts';
import { stepToReward } from '../../../service/arena/step-to-reward.ts';
import { toProblem } from '../problems/problem.ts';
import {
  type ActionResult,
  createErrorFrame,
  type ErrorCode,
  type Frame,
  type Message,
  MESSAGE_TYPES,
  messageSchema,
  type Result,
} from './openenv-frames.ts';
import { toActionResult } from './openenv-observation.ts';
import { answerRpc, listEnvironmentTools, readToolCall, type ToolCall, toToolResult } from './openenv-tools.ts';

export interface SessionParts {
  readonly arena: EpisodeCalls;
  readonly caller: Caller;
  readonly task: string;
  /** Returns the longest wait for a verdict, in milliseconds. */
  readonly patience: () => number;
  /** Aborted when the peer has gone. */
  readonly gone: AbortSignal;
  readonly onDefect: (error: unknown) => void;
}

/** When `frame` is undefined, nothing is sent. */
export type SessionAnswer = { readonly frame: Frame | undefined; readonly closes: boolean };

interface Play {
  /** The id in the arena. */
  readonly id: string;
  /** The caller's name for it. */
  readonly alias: string;
  steps: number;
  isOver: boolean;
}

/** One connection: it plays one episode at a time, and gives up an open one when it ends. Its messages are answered one after the other. */
export class OpenEnvSession {
  readonly #parts: SessionParts;
  #play: Play | undefined;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** Never rejects. */
  async answer(text: string): Promise<SessionAnswer> {
    const read = readMessage(text);
    if (read.kind === 'misfit') return { frame: createErrorFrame(read.code, read.detail), closes: false };
    try {
      return await this.#answer(read.message);
    } catch (error) {
      return this.#answerFailure(error);
    }
  }

  /** Gives up what is open. Never rejects. */
  async leave(): Promise<void> {
    const play = this.#play;
    this.#play = undefined;
    if (play === undefined || play.isOver) return;
    try {
      await this.#parts.arena.cancel(play.id, this.#parts.caller);
    } catch {
      // The episode ends later as idle.
    }
  }

  async #answer(message: Message): Promise<SessionAnswer> {
    switch (message.type) {
      case 'reset':
        return keepOpen({ type: 'observation', data: await this.#reset(message.data) });
      case 'step':
        return await this.#step(message.data);
      case 'state':
        return keepOpen({ type: 'state', data: this.#describeState() });
      case 'close':
        return { frame: undefined, closes: true };
      case 'mcp':
        return keepOpen({
          type: 'mcp',
          data: await answerRpc(
            message.data,
            () => this.#listTools(),
            (call) => this.#call(call),
          ),
        });
    }
  }

  #listTools(): Promise<readonly object[]> {
    return listEnvironmentTools(this.#parts.arena, this.#parts.task);
  }

  async #reset({ seed, episode_id: alias, agent }: Extract<Message, { type: 'reset' }>['data']): Promise<Result> {
    await this.leave();
    const { arena, caller, task } = this.#parts;
    const started = await arena.start({ task, agent: agent ?? 'openenv', seed: seed ?? 0 }, caller);
    const { id } = started.episode;
    this.#play = { id, alias: alias ?? id, steps: 0, isOver: false };
    return toResetResult(started);
  }

  async #step(data: Record<string, unknown>): Promise<SessionAnswer> {
    const tool = readToolCall(data);
    if (tool?.kind === 'misfit') return keepOpen(createErrorFrame('VALIDATION_ERROR', tool.detail));
    if (tool?.kind === 'list') {
      const observation = { tools: await this.#listTools() };
      return keepOpen({ type: 'observation', data: { observation, reward: null, done: false } });
    }
    const result = await this.#act(tool === undefined ? data : tool.action);
    if (result === undefined)
      return keepOpen(createErrorFrame('EXECUTION_ERROR', 'the episode is graded and takes longer; send the step again'));
    return keepOpen({ type: 'observation', data: tool === undefined ? result : toToolResult(tool.name, result) });
  }

  async #call({ name, action }: ToolCall): Promise<ActionResult> {
    const result = await this.#act(action);
    if (result === undefined) throw new InputError('episode.grading', `${name}: the episode is still being graded; call it again`);
    return result;
  }

  /** @returns undefined while it is graded. */
  async #act(action: Record<string, unknown>): Promise<ActionResult | undefined> {
    const { arena, caller, patience, gone } = this.#parts;
    const play = this.#play;
    if (play === undefined) throw new InputError('episode.none', 'no episode has begun; send a reset first');
    const { answer, reward } = await stepToReward(arena, play.id, caller, action, { milliseconds: patience(), gone });
    play.steps = answer?.step ?? 0;
    play.isOver = reward !== undefined;
    return toActionResult(play.id, { answer, reward });
  }

  #describeState(): object {
    const { alias = null, steps = 0, id = null } = this.#play ?? {};
    return { episode_id: alias, step_count: steps, task: this.#parts.task, episode: id };
  }

  #answerFailure(error: unknown): SessionAnswer {
    const { status, detail } = toProblem(error);
    if (status === 500) this.#parts.onDefect(error);
    if (error instanceof QuotaError) return { frame: createErrorFrame('CAPACITY_REACHED', detail), closes: true };
    if (error instanceof InputError && error.code.startsWith('task.'))
      return { frame: createErrorFrame('FACTORY_ERROR', detail), closes: true };
    return keepOpen(createErrorFrame('EXECUTION_ERROR', detail));
  }
}

function keepOpen(frame: Frame): SessionAnswer {
  return { frame, closes: false };
}

/** Describes how an episode begins. */
export function toResetResult({ episode, task: { task } }: StartedEpisode): Result {
  const begun = toObservation({ kind: 'task', instruction: task.steps[0].instruction, workdir: task.workspace.workdir });
  const { id, limits, spent } = episode;
  const observation = { ...begun, episode: id, step: 0, truncated: false, remaining: computeRemaining(limits, 0, spent), notice: null };
  return { observation, reward: null, done: false };
}

type ReadMessage =
  { readonly kind: 'message'; readonly message: Message } | { readonly kind: 'misfit'; readonly code: ErrorCode; readonly detail: string };

function readMessage(text: string): ReadMessage {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    return createMisfit('INVALID_JSON', `expected JSON: ${getMessage(error)}`);
  }
  const type = typeof given === 'object' && given !== null && 'type' in given ? given.type : undefined;
  if (typeof type === 'string' && !MESSAGE_TYPES.includes(type))
    return createMisfit('UNKNOWN_TYPE', `type: expected one of ${MESSAGE_TYPES.join(', ')}, got ${JSON.stringify(type.slice(0, 100))}`);
  const read = messageSchema.safeParse(given);
  if (read.success) return { kind: 'message', message: read.data };
  return createMisfit(
    'VALIDATION_ERROR',
    read.error.issues.map(({ path, message }) => `${path.join('.') || 'message'}: ${message}`).join('; '),
  );
}

function createMisfit(code: ErrorCode, detail: string): ReadMessage {
  return { kind: 'misfit', code, detail: detail.slice(0, 2000) };
}
