import { z } from 'zod';
import type { Completion } from '../../../agents/acting/model/model-endpoint.ts';
import { cutPieces, type AnswerWriter, type Dialect, type DialectTerms, type ServerEvent } from './dialect.ts';

const requestSchema = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
  n: z.literal(1, 'expected 1: each answer is a turn').nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: z.literal(false, 'expected false: Muster keeps log-probabilities, and hands none out').nullish(),
  max_tokens: z.unknown().optional(),
  max_completion_tokens: z.unknown().optional(),
});

/** OpenAI's chat completions. */
export const CHAT: Dialect = {
  read: (request, terms) => {
    const parsed = requestSchema.safeParse(request);
    if (!parsed.success) return { kind: 'misfit', detail: z.prettifyError(parsed.error) };
    const { stream, stream_options: options, n: _, logprobs: __, max_completion_tokens: most, max_tokens: alias, ...rest } = parsed.data;
    const limit = most ?? alias;
    return {
      kind: 'request',
      body: { ...rest, ...(limit === undefined || limit === null ? {} : { max_tokens: limit }) },
      isStreamed: stream === true,
      write: writeChat(terms, options?.include_usage === true),
    };
  },
  error: ({ type, code, detail }) => ({ error: { message: detail, type, param: null, code } }),
};

function writeChat({ id, created }: DialectTerms, withUsage: boolean): AnswerWriter {
  const base = (object: string, { model }: Completion): object => ({ id: `chatcmpl-${id}`, object, created, model });
  return {
    document: (completion) => ({
      ...base('chat.completion', completion),
      choices: [{ index: 0, message: toAnswer(completion), logprobs: null, finish_reason: completion.finishReason }],
      usage: getUsage(completion),
    }),
    events: function* (completion): Generator<ServerEvent> {
      const chunk = (delta: object, finish: string | null = null): ServerEvent => ({
        data: { ...base('chat.completion.chunk', completion), choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] },
      });
      yield chunk({ role: 'assistant', content: '' });
      for (const piece of cutPieces(completion.reasoning ?? '')) yield chunk({ reasoning_content: piece });
      for (const piece of cutPieces(completion.content)) yield chunk({ content: piece });
      for (const [index, call] of completion.toolCalls.entries()) {
        yield chunk({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] });
        for (const piece of cutPieces(call.arguments)) yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
      }
      yield chunk({}, completion.finishReason);
      if (withUsage) yield { data: { ...base('chat.completion.chunk', completion), choices: [], usage: getUsage(completion) } };
      yield { data: '[DONE]' };
    },
  };
}

/** The model's answer as a message of a conversation. */
export function toChatMessage({ content, reasoning, toolCalls }: Completion): object {
  const calls = toolCalls.map(({ id, name, arguments: text }) => ({ id, type: 'function', function: { name, arguments: text } }));
  return {
    role: 'assistant',
    content,
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function toAnswer(completion: Completion): object {
  const hasOnlyCalls = completion.content === '' && completion.toolCalls.length > 0;
  return { ...toChatMessage(completion), ...(hasOnlyCalls ? { content: null } : {}), refusal: null };
}

function getUsage({ usage: { promptTokens, completionTokens, cachedTokens } }: Completion): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
