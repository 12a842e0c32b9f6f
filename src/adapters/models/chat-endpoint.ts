import type { ServedModel } from '../../agents/acting/model/model-agent.ts';
import type {
  Answered,
  Completion,
  CompletionRequest,
  ModelEndpoint,
  RelayedRequest,
  ChatMessage,
} from '../../agents/acting/model/model-endpoint.ts';
import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import { computeOnce } from '../../kernel/once.ts';
import { readChatAnswer } from './chat-answer.ts';
import type { ModelServer } from './model-server.ts';

const SHOWN = 100;

/** The model of one agent in one evaluation. It must stay the same model. */
export class ChatEndpoint implements ModelEndpoint {
  readonly #agent: ServedModel;
  readonly #server: ModelServer;
  /** The name that the server's first answer gave. */
  #model: string | undefined;

  constructor(agent: ServedModel, server: ModelServer) {
    this.#agent = agent;
    this.#server = server;
  }

  complete(request: CompletionRequest | RelayedRequest, signal: AbortSignal): Promise<Answered> {
    return this.#server.ask(formatChatRequest(request, this.#agent), (answer) => this.#read(answer), signal);
  }

  #read(answer: unknown): Completion {
    const completion = readChatAnswer(answer);
    const { tokenIds } = this.#agent;
    if (tokenIds !== 'none' && completion.tokens?.logprobs === undefined) {
      const remedy = 'take a server that does, or, to evaluate, tokenIds: none';
      const asked = `which "tokenIds: ${tokenIds}" asks for`;
      throw new InputError('endpoint.no-tokens', `${this.#server.name} gives no token ids with log-probabilities, ${asked}; ${remedy}`);
    }
    this.#model ??= completion.model;
    if (completion.model !== this.#model)
      throw new InfrastructureError(
        'endpoint.other-model',
        `${this.#server.name} answers as ${format(completion.model)}, and answered as ${format(this.#model)} before; an evaluation needs one model`,
      );
    return completion;
  }
}

function format(model: string): string {
  return JSON.stringify(model.slice(0, SHOWN));
}

/** Formats the body of a request for a chat completion, as OpenAI, vLLM and SGLang take it. */
function formatChatRequest(request: CompletionRequest | RelayedRequest, { model, sampling, tokenIds, extra }: ServedModel): string {
  const { temperature, topP, maxTokens, stop } = sampling;
  const set = Object.entries({ temperature, top_p: topP, max_tokens: maxTokens, stop }).filter(([, value]) => value !== undefined);
  const fields = { model, seed: request.seed, ...Object.fromEntries(set), ...buildTokenFields(tokenIds), ...extra };
  if ('body' in request) return JSON.stringify({ ...request.body, ...fields });
  const messages = request.messages.map((message) => formatMessage(message));
  const tools = formatTools(request.tools);
  return `{"messages":[${messages.join(',')}],"tools":${tools},${JSON.stringify(fields).slice(1)}`;
}

// Messages and tools recur in all later requests of their conversation.
const formatMessage = computeOnce((message: ChatMessage) => JSON.stringify(writeMessage(message)));
const formatTools = computeOnce((tools: CompletionRequest['tools']) =>
  JSON.stringify(tools.map((tool) => ({ type: 'function', function: tool }))),
);

function writeMessage(message: ChatMessage): Readonly<Record<string, unknown>> {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCall, content: message.content };
    case 'assistant': {
      const calls = message.toolCalls.map(({ id, name, arguments: text }) => ({
        id,
        type: 'function',
        function: { name, arguments: parseReadable(text) },
      }));
      return {
        role: 'assistant',
        content: message.content,
        ...(message.reasoning === null ? {} : { reasoning_content: message.reasoning }),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      };
    }
  }
}

/** Servers parse the arguments of earlier calls, and fail if they are invalid. So invalid ones are sent as a text in an object. */
function parseReadable(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  } catch {
    // Wrapped below.
  }
  return text.trim() === '' ? '{}' : JSON.stringify({ unreadable: text });
}

function buildTokenFields(kind: ServedModel['tokenIds']): Readonly<Record<string, unknown>> {
  switch (kind) {
    case 'none':
      return {};
    case 'vllm':
      return { return_token_ids: true, logprobs: true, top_logprobs: 0 };
    case 'sglang':
      return { return_token_ids: true, return_meta_info: true, logprobs: true, top_logprobs: 0 };
  }
}
