import type { ToolCall, Trajectory } from '../record/trajectory.ts';

/** A conversation as TRL and the chat templates of transformers take it: the arguments of a call are an object, not a text. */
export interface ChatLine {
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly tools: readonly Readonly<Record<string, unknown>>[];
  readonly task: string;
  readonly trajectory: string;
  readonly reward: number | null;
}

/** Formats the messages without tokens, for supervised fine-tuning. */
export function formatMessages({ prompt, turns, tools, task, trajectory, reward }: Trajectory): ChatLine {
  return { messages: [...prompt, ...turns.flatMap(describeTurn)], tools: describeTools(tools), task, trajectory, reward };
}

export function describeTools(tools: Trajectory['tools']): readonly Readonly<Record<string, unknown>>[] {
  return tools.map((tool) => ({ type: 'function', function: tool }));
}

/** Describes the messages of one turn: the model's, and the answers to it. */
function describeTurn({ message, toolCalls, observations }: Trajectory['turns'][number]): readonly Readonly<Record<string, unknown>>[] {
  const names = new Map(toolCalls.map(({ id, name }) => [id, name]));
  const said = {
    role: 'assistant',
    content: message.content,
    ...(message.reasoning === null ? {} : { reasoning_content: message.reasoning }),
    ...(toolCalls.length === 0
      ? {}
      : {
          tool_calls: toolCalls.map((call) => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: readArguments(call) },
          })),
        }),
  };
  const answers = observations.map(({ toolCall, text }) =>
    toolCall === null
      ? { role: 'user', content: text }
      : { role: 'tool', tool_call_id: toolCall, name: names.get(toolCall) ?? '', content: text },
  );
  return [said, ...answers];
}

/** Text that is no JSON object is wrapped in one, under `unreadable`. */
export function readArguments({ arguments: text }: Pick<ToolCall, 'arguments'>): object {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Said below.
  }
  return { unreadable: text };
}
