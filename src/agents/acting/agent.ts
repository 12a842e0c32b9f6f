import { z } from 'zod';
import { InputError } from '../../kernel/errors.ts';

/**
 * What acts on tasks, as a file says it. It stands where a checkpoint would be: the file's digest names it.
 *
 * oracle: the task's own solution. nop: nothing is done.
 */
export const agentSchema = z.strictObject({ agent: z.enum(['oracle', 'nop']) }).describe('agent of Muster');

export type Agent = z.infer<typeof agentSchema>;

/** Agents that need no file. */
export const BUILT_IN_AGENTS: ReadonlyMap<string, Agent> = new Map([
  ['oracle', { agent: 'oracle' }],
  ['nop', { agent: 'nop' }],
]);

/** Most bytes of a file that says what an agent does. */
export const AGENT_BYTES = 4 * 1024 * 1024;

/** @param where the agent's name, for messages. @throws InputError `agent.invalid` */
export function parseAgent(where: string, value: unknown): Agent {
  const parsed = agentSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new InputError(
    'agent.invalid',
    `${where}: ${issue?.path.join('.') || 'it'} is no agent: ${issue?.message ?? 'invalid'}; ${AGENT_EXPECTED}`,
  );
}

const AGENT_EXPECTED =
  'expected oracle, nop, or a file such as {"agent": "oracle"}: this suite has tasks for agents, which no policy plays';
