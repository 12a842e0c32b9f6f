import { z } from 'zod';
import { dropAbsent, type Dialect } from './dialect.ts';
import { writeResponse } from './responses-answer.ts';

const partSchema = z.looseObject({
  type: z.enum(['input_text', 'output_text', 'text', 'reasoning_text', 'summary_text']),
  text: z.string(),
});
const texts = z.union([z.string(), z.array(partSchema)]);
const itemSchema = z.union([
  z.looseObject({ type: z.literal('function_call'), call_id: z.string(), name: z.string(), arguments: z.string() }),
  z.looseObject({ type: z.literal('function_call_output'), call_id: z.string(), output: texts }),
  z.looseObject({ type: z.literal('reasoning'), content: z.array(partSchema).nullish(), summary: z.array(partSchema).nullish() }),
  z.looseObject({
    type: z.literal('message').nullish(),
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: texts,
  }),
]);
const functionSchema = z.looseObject({
  type: z.literal('function', "expected function: the provider's own tools are not there"),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});
const requestSchema = z.looseObject({
  input: z.union([z.string(), z.array(itemSchema).min(1)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish() }).nullish(),
  stream: z.boolean().nullish(),
  background: z.literal(false, 'expected false').nullish(),
  tools: z.array(functionSchema).nullish(),
  tool_choice: z.union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.literal('function'), name: z.string() })]).nullish(),
});

type Request = z.infer<typeof requestSchema>;
type Item = z.infer<typeof itemSchema>;

/** OpenAI's responses. */
export const RESPONSES: Dialect = {
  read: (request, terms) => {
    const parsed = requestSchema.safeParse(request);
    if (!parsed.success) return { kind: 'misfit', detail: z.prettifyError(parsed.error) };
    const { previous_response_id: before, input, stream } = parsed.data;
    const past = before === undefined || before === null ? [] : terms.past.get(before);
    if (past === undefined) return { kind: 'misfit', detail: `previous_response_id: there is no response ${before} in this session` };
    const conversation = [...past, ...toMessages(typeof input === 'string' ? [{ role: 'user', content: input }] : input)];
    return {
      kind: 'request',
      body: toChat(parsed.data, conversation),
      isStreamed: stream === true,
      write: writeResponse(parsed.data, terms, (said) => terms.past.set(`resp_${terms.id}`, [...conversation, said])),
    };
  },
  error: ({ type, code, detail }) => ({ error: { message: detail, type, param: null, code } }),
};

function toChat(request: Request, conversation: readonly object[]): Readonly<Record<string, unknown>> {
  const { instructions, tools, tool_choice: choice, max_output_tokens: most, temperature, top_p, parallel_tool_calls, reasoning } = request;
  const first = instructions === undefined || instructions === null ? [] : [{ role: 'system', content: instructions }];
  const functions = tools?.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description: description ?? '', parameters: parameters ?? {} },
  }));
  return dropAbsent({
    messages: [...first, ...conversation],
    tools: functions,
    tool_choice: typeof choice === 'object' && choice !== null ? { type: 'function', function: { name: choice.name } } : choice,
    parallel_tool_calls: functions === undefined ? undefined : parallel_tool_calls,
    max_tokens: most,
    temperature,
    top_p,
    reasoning_effort: reasoning?.effort,
  });
}

interface Growing {
  role: 'assistant';
  content: string;
  reasoning_content?: string;
  tool_calls?: object[];
}

/** Adjacent reasoning, text and calls are one message of the model. */
function toMessages(items: readonly Item[]): readonly object[] {
  const messages: object[] = [];
  let turn: Growing | undefined;
  const assistant = (): Growing => {
    if (turn === undefined) messages.push((turn = { role: 'assistant', content: '' }));
    return turn;
  };
  for (const item of items) {
    switch (item.type) {
      case 'function_call':
        (assistant().tool_calls ??= []).push({
          id: item.call_id,
          type: 'function',
          function: { name: item.name, arguments: item.arguments },
        });
        break;
      case 'reasoning':
        assistant().reasoning_content = joinTexts(item.content ?? item.summary ?? []);
        break;
      case 'function_call_output':
        turn = undefined;
        messages.push({ role: 'tool', tool_call_id: item.call_id, content: joinTexts(item.output) });
        break;
      default:
        if (item.role === 'assistant') assistant().content += joinTexts(item.content);
        else {
          turn = undefined;
          messages.push({ role: item.role === 'developer' ? 'system' : item.role, content: joinTexts(item.content) });
        }
    }
  }
  return messages;
}

function joinTexts(content: z.infer<typeof texts>): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n');
}
