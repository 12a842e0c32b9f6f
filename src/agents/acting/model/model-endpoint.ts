import type { Tool } from '../../actions/action-tools.ts';
import type { SampledTurn } from '../../rollouts/record/sampled-tokens.ts';
import type { ToolCall, Usage } from '../../rollouts/record/trajectory.ts';

export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly reasoning: string | null; readonly toolCalls: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly toolCall: string; readonly content: string };

export interface CompletionRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly Tool[];
  /** Seed of this one answer: 0 … 2³¹ − 1. */
  readonly seed: number;
}

/** A program's own request: the body of a chat completion, of which Muster sets the model, the seed and what concerns tokens. */
export interface RelayedRequest {
  readonly body: Readonly<Record<string, unknown>>;
  readonly seed: number;
}

export interface Completion {
  readonly kind: 'message';
  readonly content: string;
  readonly reasoning: string | null;
  readonly toolCalls: readonly ToolCall[];
  /** The reason that the server states: `stop`, `tool_calls`, `length`, … */
  readonly finishReason: string;
  readonly usage: Usage;
  /** The server's name for it. */
  readonly model: string;
  /** It is undefined when the server gave no token ids. */
  readonly tokens: SampledTurn | undefined;
}

/** The conversation has become longer than the model can read. */
export interface ContextExceeded {
  readonly kind: 'context-exceeded';
  readonly detail: string;
}

/** The server refuses this conversation, whatever its length, because of what the model has called or said in it. */
export interface RequestRefused {
  readonly kind: 'request-refused';
  readonly detail: string;
}

/** The possible answers of a server. */
export type Answered = Completion | ContextExceeded | RequestRefused;

/** A model behind a server, which gives one answer at a time. */
export interface ModelEndpoint {
  /**
   * Waits and repeats the request while the server is busy, gone or answers nonsense: none of that is the agent's fault.
   *
   * @throws InfrastructureError `endpoint.…` when there is no answer for too long, or another model answers than before; InputError
   * `endpoint.refused` when the server refuses the key or has no such model; the signal's reason.
   */
  complete(request: CompletionRequest | RelayedRequest, signal: AbortSignal): Promise<Answered>;
}
