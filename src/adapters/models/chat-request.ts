import type { ServedModel } from '../../agents/acting/model/model-agent.ts';
import type { ChatMessage, CompletionRequest, RelayedRequest } from '../../agents/acting/model/model-endpoint.ts';

/** The body of a request for a chat completion, as OpenAI, vLLM and SGLang take it. */
export function buildChatRequest(
  request: CompletionRequest | RelayedRequest,
  { model, sampling, tokenIds, extra }: ServedModel,
): Readonly<Record<string, unknown>> {
  const { temperature, topP, maxTokens, stop } = sampling;
  const asked = 'body' in request ? request.body : writeConversation(request);
  const set = Object.entries({ temperature, top_p: topP, max_tokens: maxTokens, stop }).filter(([, value]) => value !== undefined);
  return { ...asked, model, seed: request.seed, ...Object.fromEntries(set), ...buildTokenFields(tokenIds), ...extra };
}

function writeConversation({ messages, tools }: CompletionRequest): Readonly<Record<string, unknown>> {
  return { messages: messages.map(writeMessage), tools: tools.map((tool) => ({ type: 'function', function: tool })) };
}

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

/** Templates parse the arguments of earlier calls: what the model wrote amiss is handed back as a text in an object, or the server fails. */
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
