import { z } from 'zod';
import type { Completion } from '../../../agents/acting/model/model-endpoint.ts';
import { readArguments } from '../../../agents/rollouts/formats/chat-messages.ts';
import { cutPieces, dropAbsent, type AnswerWriter, type Dialect, type DialectTerms, type ServerEvent } from './dialect.ts';

const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() });
const texts = z.union([z.string(), z.array(textBlock)]);
const blockSchema = z.discriminatedUnion('type', [
  textBlock,
  z.looseObject({ type: z.literal('thinking'), thinking: z.string() }),
  z.looseObject({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()) }),
  z.looseObject({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: texts.nullish(),
    is_error: z.boolean().nullish(),
  }),
]);
const messageSchema = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(blockSchema)]),
});
const toolSchema = z.looseObject({
  name: z.string(),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.unknown(), 'expected the schema of a tool that the program itself has'),
});
const requestSchema = z.looseObject({
  messages: z.array(messageSchema).min(1),
  system: texts.nullish(),
  max_tokens: z.int().min(1),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.int().nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(toolSchema).nullish(),
  tool_choice: z
    .looseObject({
      type: z.enum(['auto', 'any', 'tool', 'none']),
      name: z.string().nullish(),
      disable_parallel_tool_use: z.boolean().nullish(),
    })
    .nullish(),
});

type Request = z.infer<typeof requestSchema>;
type Block = z.infer<typeof blockSchema>;

/** Anthropic's messages. */
export const MESSAGES: Dialect = {
  read: (request, terms) => {
    const parsed = requestSchema.safeParse(request);
    if (!parsed.success) return { kind: 'misfit', detail: z.prettifyError(parsed.error) };
    return { kind: 'request', body: toChat(parsed.data), isStreamed: parsed.data.stream === true, write: writeMessages(terms) };
  },
  error: ({ type, detail }) => ({ type: 'error', error: { type, message: detail } }),
};

function toChat(request: Request): Readonly<Record<string, unknown>> {
  const { system, messages, tools, tool_choice: choice, stop_sequences: stop, max_tokens, temperature, top_p, top_k } = request;
  const first = system === undefined || system === null ? [] : [{ role: 'system', content: joinTexts(system) }];
  const functions = tools?.map(({ name, description, input_schema: parameters }) => ({
    type: 'function',
    function: { name, description: description ?? '', parameters },
  }));
  return dropAbsent({
    messages: [...first, ...messages.flatMap(({ role, content }) => toMessages(role, content))],
    tools: functions,
    tool_choice: choice && toChoice(choice),
    parallel_tool_calls: choice?.disable_parallel_tool_use === true ? false : undefined,
    max_tokens,
    temperature,
    top_p,
    top_k,
    stop,
  });
}

function toChoice({ type, name }: NonNullable<Request['tool_choice']>): unknown {
  switch (type) {
    case 'auto':
    case 'none':
      return type;
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name } };
  }
}

/** Results of tools are messages of their own; other content of the user comes after them. */
function toMessages(role: 'user' | 'assistant' | 'system', content: string | readonly Block[]): readonly object[] {
  if (typeof content === 'string') return [{ role, content }];
  const said = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  if (role !== 'assistant') {
    const results = content.flatMap((block) =>
      block.type === 'tool_result' ? [{ role: 'tool', tool_call_id: block.tool_use_id, content: joinTexts(block.content ?? '') }] : [],
    );
    return said === '' && results.length > 0 ? results : [...results, { role, content: said }];
  }
  const thought = content.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : [])).join('\n');
  const calls = content.flatMap((block) =>
    block.type === 'tool_use'
      ? [{ id: block.id, type: 'function', function: { name: block.name, arguments: JSON.stringify(block.input) } }]
      : [],
  );
  return [
    {
      role,
      content: said,
      ...(thought === '' ? {} : { reasoning_content: thought }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
}

function joinTexts(content: z.infer<typeof texts>): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n');
}

function writeMessages({ id }: DialectTerms): AnswerWriter {
  const message = (completion: Completion, content: readonly object[], stopReason: string | null): object => ({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: completion.model,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: getUsage(completion),
  });
  return {
    document: (completion) => message(completion, listBlocks(completion), readStop(completion)),
    events: function* (completion): Generator<ServerEvent> {
      yield createEvent('message_start', { message: message(completion, [], null) });
      for (const [index, block] of listBlocks(completion).entries()) {
        const { start, deltas } = streamBlock(block);
        yield createEvent('content_block_start', { index, content_block: start });
        for (const delta of deltas) yield createEvent('content_block_delta', { index, delta });
        yield createEvent('content_block_stop', { index });
      }
      yield createEvent('message_delta', {
        delta: { stop_reason: readStop(completion), stop_sequence: null },
        usage: getUsage(completion),
      });
      yield createEvent('message_stop', {});
    },
  };
}

function createEvent(type: string, fields: object): ServerEvent {
  return { event: type, data: { type, ...fields } };
}

type Said =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object };

function listBlocks({ content, reasoning, toolCalls }: Completion): readonly Said[] {
  const calls = toolCalls.map((call): Said => ({ type: 'tool_use', id: call.id, name: call.name, input: readArguments(call) }));
  return [
    ...(reasoning === null ? [] : [{ type: 'thinking', thinking: reasoning, signature: '' } as const]),
    ...(content === '' && calls.length > 0 ? [] : [{ type: 'text', text: content } as const]),
    ...calls,
  ];
}

function streamBlock(block: Said): { readonly start: object; readonly deltas: readonly object[] } {
  switch (block.type) {
    case 'thinking':
      return {
        start: { type: 'thinking', thinking: '', signature: '' },
        deltas: cutPieces(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
      };
    case 'text':
      return { start: { type: 'text', text: '' }, deltas: cutPieces(block.text).map((text) => ({ type: 'text_delta', text })) };
    case 'tool_use': {
      const pieces = cutPieces(JSON.stringify(block.input));
      return { start: { ...block, input: {} }, deltas: pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece })) };
    }
  }
}

function readStop({ finishReason, toolCalls }: Completion): string {
  if (toolCalls.length > 0) return 'tool_use';
  switch (finishReason) {
    case 'length':
      return 'max_tokens';
    case 'content_filter':
      return 'refusal';
    default:
      return 'end_turn';
  }
}

function getUsage({ usage: { promptTokens, completionTokens, cachedTokens } }: Completion): object {
  return {
    input_tokens: promptTokens - Math.min(promptTokens, cachedTokens),
    output_tokens: completionTokens,
    cache_read_input_tokens: cachedTokens,
    cache_creation_input_tokens: 0,
  };
}
