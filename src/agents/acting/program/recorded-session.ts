import type { Clock } from '../../../kernel/clock.ts';
import { getMessage } from '../../../kernel/errors.ts';
import type { StopReason } from '../../rollouts/record/trajectory.ts';
import type { ModelCourse } from '../acted/acted.ts';
import type { ProgramAgent } from '../model/model-agent.ts';
import type { Answered, Completion, ModelEndpoint } from '../model/model-endpoint.ts';
import { TurnRecord } from '../model/turn-record.ts';
import { goesOn, type ProgramMessage, listNews, readMessages, readTools, toPrompt } from './conversation.ts';
import type { ProgramSession, Refusal } from './gateway.ts';

/** The largest number of concurrent requests of one program, which may have sub-agents. */
const MOST_OPEN = 32;
const LARGEST_SEED = 2 ** 31;

/** Why a program has to be ended. */
export type SessionEnd =
  | { readonly kind: 'limit'; readonly reason: Extract<StopReason, 'turns' | 'context'> }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface SessionParts {
  readonly endpoint: ModelEndpoint;
  readonly clock: Clock;
  /** Called when the program begins and ends waiting for its model. */
  readonly onWaiting: (isWaiting: boolean) => void;
  /** Called once. */
  readonly onEnd: (end: SessionEnd) => void;
}

/** A program's requests to its model, and the answers: the turns of its trajectory. */
export class RecordedSession implements ProgramSession {
  readonly #agent: ProgramAgent;
  readonly #seed: number;
  readonly #parts: SessionParts;
  readonly #record = new TurnRecord();
  #prompt: readonly ProgramMessage[] | undefined;
  #tools: ModelCourse['tools'] = [];
  #last: { readonly messages: readonly ProgramMessage[]; readonly said: string } | undefined;
  #isRewritten = false;
  #tokens = 0;
  #open = 0;
  #began = 0;
  #waitedMs = 0;
  #end: SessionEnd | undefined;
  /** Whether the last answer was that the conversation is too long. */
  isTooLong = false;

  constructor(agent: ProgramAgent, seed: number, parts: SessionParts) {
    this.#agent = agent;
    this.#seed = seed;
    this.#parts = parts;
  }

  get model(): string {
    return this.#agent.model;
  }

  get turns(): number {
    return this.#record.count;
  }

  get waitedSeconds(): number {
    return this.#waitedMs / 1000;
  }

  async complete(body: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Answered | Refusal> {
    const refusal = this.#findRefusal();
    if (refusal) return refusal;
    const { clock, endpoint } = this.#parts;
    const messages = readMessages(body);
    this.#recordMessages(messages, body);
    const startedAt = clock.date();
    this.#wait(1);
    try {
      const answered = await endpoint.complete({ body, seed: (this.#seed + this.#record.count) % LARGEST_SEED }, signal);
      this.isTooLong = answered.kind === 'context-exceeded';
      if (answered.kind === 'message') this.#add(answered, messages, { startedAt, endedAt: clock.date() });
      return answered;
    } catch (error) {
      if (signal.aborted) throw error;
      this.#finish({ kind: 'failed', error });
      return { kind: 'lost', detail: getMessage(error) };
    } finally {
      this.#wait(-1);
    }
  }

  getCourse(): Omit<ModelCourse, 'actionSeconds'> {
    return {
      ...this.#record.getCourse(),
      tools: this.#tools,
      prompt: toPrompt(this.#prompt ?? []),
      modelSeconds: this.waitedSeconds,
      isRewritten: this.#isRewritten,
    };
  }

  #findRefusal(): Refusal | undefined {
    const { turns, contextTokens = Number.POSITIVE_INFINITY } = this.#agent;
    if (this.#end?.kind === 'failed') return { kind: 'lost', detail: getMessage(this.#end.error) };
    if (this.#record.count + this.#open >= turns && this.#open > 0)
      return { kind: 'busy', detail: 'other requests of yours are the last ones' };
    if (this.#record.count >= turns) this.#finish({ kind: 'limit', reason: 'turns' });
    else if (this.#tokens >= contextTokens) this.#finish({ kind: 'limit', reason: 'context' });
    if (this.#end)
      return {
        kind: 'over',
        detail: `this agent has had its ${this.#end.reason === 'turns' ? `${turns} turns` : `${contextTokens} tokens`}`,
      };
    if (this.#open >= MOST_OPEN) return { kind: 'busy', detail: `${MOST_OPEN} requests of this program are open` };
    return undefined;
  }

  /** Records what the program has sent its model since the last request. */
  #recordMessages(messages: readonly ProgramMessage[], body: Readonly<Record<string, unknown>>): void {
    if (this.#prompt === undefined) {
      this.#prompt = messages;
      this.#tools = readTools(body);
      return;
    }
    this.#isRewritten ||= this.#last === undefined || !goesOn(this.#last.messages, this.#last.said, messages);
    for (const { toolCall, text } of listNews(messages)) this.#record.observe(toolCall, text);
  }

  #add(completion: Completion, messages: readonly ProgramMessage[], times: { readonly startedAt: Date; readonly endedAt: Date }): void {
    const { promptTokens, completionTokens } = completion.usage;
    this.#record.add(completion, times);
    this.#last = { messages, said: completion.content };
    this.#tokens = promptTokens + completionTokens;
  }

  #wait(by: 1 | -1): void {
    const { clock, onWaiting } = this.#parts;
    if (this.#open === 0) {
      this.#began = clock.now();
      onWaiting(true);
    }
    this.#open += by;
    if (this.#open > 0) return;
    this.#waitedMs += clock.now() - this.#began;
    onWaiting(false);
  }

  #finish(end: SessionEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#parts.onEnd(end);
  }
}
