import type { Completion } from '../../../agents/acting/model/model-endpoint.ts';
import { toChatMessage } from './chat-dialect.ts';
import { cutPieces, type AnswerWriter, type DialectTerms, type ServerEvent } from './dialect.ts';

type Said =
  | { readonly type: 'reasoning'; readonly id: string; readonly text: string }
  | { readonly type: 'message'; readonly id: string; readonly text: string }
  | { readonly type: 'function_call'; readonly id: string; readonly call: string; readonly name: string; readonly text: string };

/** @param keep is called with the model's message, so that a later request can continue from it. */
export function writeResponse(
  request: Readonly<Record<string, unknown>>,
  { id, created }: DialectTerms,
  keep: (said: object) => void,
): AnswerWriter {
  const response = (completion: Completion, output: readonly object[], status: string): object => ({
    id: `resp_${id}`,
    object: 'response',
    created_at: created,
    status,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: request['instructions'] ?? null,
    max_output_tokens: request['max_output_tokens'] ?? null,
    model: completion.model,
    output,
    parallel_tool_calls: request['parallel_tool_calls'] ?? true,
    previous_response_id: request['previous_response_id'] ?? null,
    temperature: request['temperature'] ?? null,
    top_p: request['top_p'] ?? null,
    tool_choice: request['tool_choice'] ?? 'auto',
    tools: request['tools'] ?? [],
    metadata: request['metadata'] ?? {},
    usage: status === 'in_progress' ? null : getUsage(completion),
  });
  const finished = (completion: Completion): object => {
    keep(toChatMessage(completion));
    const status = completion.finishReason === 'length' ? 'incomplete' : 'completed';
    return response(completion, listItems(completion, id).map(formatItem), status);
  };
  return {
    document: finished,
    events: function* (completion): Generator<ServerEvent> {
      let number = 0;
      const event = (type: string, fields: object): ServerEvent => ({ event: type, data: { type, sequence_number: number++, ...fields } });
      yield event('response.created', { response: response(completion, [], 'in_progress') });
      yield event('response.in_progress', { response: response(completion, [], 'in_progress') });
      for (const [index, item] of listItems(completion, id).entries()) {
        yield event('response.output_item.added', { output_index: index, item: formatItem({ ...item, text: '' }) });
        yield* streamItem(item, index, event);
        yield event('response.output_item.done', { output_index: index, item: formatItem(item) });
      }
      const last = finished(completion);
      yield event(completion.finishReason === 'length' ? 'response.incomplete' : 'response.completed', { response: last });
    },
  };
}

function* streamItem(item: Said, index: number, event: (type: string, fields: object) => ServerEvent): Generator<ServerEvent> {
  const place = { output_index: index, item_id: item.id };
  if (item.type === 'function_call') {
    for (const delta of cutPieces(item.text)) yield event('response.function_call_arguments.delta', { ...place, delta });
    return yield event('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.text });
  }
  const [kind, part] =
    item.type === 'message'
      ? (['output_text', { type: 'output_text', annotations: [], logprobs: [] }] as const)
      : (['reasoning_text', { type: 'reasoning_text' }] as const);
  const within = { ...place, content_index: 0 };
  const more = item.type === 'message' ? { logprobs: [] } : {};
  yield event('response.content_part.added', { ...within, part: { ...part, text: '' } });
  for (const delta of cutPieces(item.text)) yield event(`response.${kind}.delta`, { ...within, delta, ...more });
  yield event(`response.${kind}.done`, { ...within, text: item.text, ...more });
  yield event('response.content_part.done', { ...within, part: { ...part, text: item.text } });
}

function listItems({ content, reasoning, toolCalls }: Completion, id: string): readonly Said[] {
  const calls = toolCalls.map(({ id: call, name, arguments: text }, i): Said => ({
    type: 'function_call',
    id: `fc_${id}_${i}`,
    call,
    name,
    text,
  }));
  return [
    ...(reasoning === null ? [] : [{ type: 'reasoning', id: `rs_${id}`, text: reasoning } as const]),
    ...(content === '' && calls.length > 0 ? [] : [{ type: 'message', id: `msg_${id}`, text: content } as const]),
    ...calls,
  ];
}

function formatItem(item: Said): object {
  const { type, id, text } = item;
  switch (type) {
    case 'reasoning':
      return { type, id, summary: [], content: text === '' ? [] : [{ type: 'reasoning_text', text }], status: 'completed' };
    case 'message': {
      const content = text === '' ? [] : [{ type: 'output_text', text, annotations: [], logprobs: [] }];
      return { type, id, role: 'assistant', status: 'completed', content };
    }
    case 'function_call':
      return { type, id, call_id: item.call, name: item.name, arguments: text, status: 'completed' };
  }
}

function getUsage({ usage: { promptTokens, completionTokens, cachedTokens } }: Completion): object {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: promptTokens + completionTokens,
  };
}
