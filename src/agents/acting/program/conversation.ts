import { z } from 'zod';
import type { Tool } from '../../actions/action-tools.ts';
import type { Trajectory } from '../../rollouts/record/trajectory.ts';

const partSchema = z.looseObject({ type: z.string(), text: z.string().optional() });
const messageSchema = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(partSchema)]).nullish(),
  tool_call_id: z.string().nullish(),
});
const toolSchema = z.object({
  function: z.object({
    name: z.string(),
    description: z.string().default(''),
    parameters: z.record(z.string(), z.unknown()).default({}),
  }),
});

/** A message of a program's request, as far as a trajectory keeps it. */
export interface ProgramMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly text: string;
  readonly toolCall: string | null;
}

/** Reads the messages of a chat completion's body. Anything else in the list is left out, because the server refuses it. */
export function readMessages({ messages }: Readonly<Record<string, unknown>>): readonly ProgramMessage[] {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((each: unknown) => {
    const parsed = messageSchema.safeParse(each);
    if (!parsed.success) return [];
    const { role, content, tool_call_id: toolCall } = parsed.data;
    return [{ role: readRole(role), text: joinParts(content), toolCall: toolCall ?? null }];
  });
}

function readRole(role: string): ProgramMessage['role'] {
  switch (role) {
    case 'system':
    case 'developer':
      return 'system';
    case 'assistant':
    case 'tool':
      return role;
    default:
      return 'user';
  }
}

function joinParts(content: z.infer<typeof messageSchema>['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ type, text }) => text ?? `[${type}]`).join('\n');
}

export function readTools({ tools }: Readonly<Record<string, unknown>>): readonly Tool[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((each: unknown) => {
    const parsed = toolSchema.safeParse(each);
    return parsed.success ? [parsed.data.function] : [];
  });
}

/** A record's prompt has no turns, so examples of other roles become the user's text. */
export function toPrompt(messages: readonly ProgramMessage[]): Trajectory['prompt'] {
  return messages.map(({ role, text }) =>
    role === 'system' || role === 'user' ? { role, content: text } : { role: 'user', content: `[${role}] ${text}` },
  );
}

/** Lists the messages after the last turn of the model. */
export function listNews(messages: readonly ProgramMessage[]): readonly ProgramMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
}

/** Whether a conversation continues another one and its answer: no earlier message was changed or left out. */
export function goesOn(before: readonly ProgramMessage[], said: string, now: readonly ProgramMessage[]): boolean {
  const answer = now[before.length];
  return (
    before.every(({ role, text, toolCall }, i) => now[i]?.role === role && now[i].text === text && now[i].toolCall === toolCall) &&
    answer?.role === 'assistant' &&
    answer.text.trim() === said.trim()
  );
}
