import { z } from 'zod';
import { isMapping } from '../../kernel/documents/path.ts';
import { KnownSettings } from '../../kernel/documents/known-settings.ts';
import { formatProblemLine, listProblems } from '../../kernel/documents/problems.ts';
import { InputError } from '../../kernel/errors.ts';
import { type Action, actionSchema } from '../actions/action.ts';
import { externalAgentSchema } from './external/external-agent.ts';
import { type ModelAgent, modelAgentSchema, type ProgramAgent, programAgentSchema } from './model/model-agent.ts';
import type { OpenStep } from '../grading/make-submission.ts';

const MOST_ACTIONS = 10_000;
const actionList = z.array(actionSchema).max(MOST_ACTIONS);

/**
 * What acts on tasks, as its file describes it. It is used in place of a checkpoint: the file's digest names it.
 *
 * oracle: the task's own solution. nop: does nothing. scripted: a list of actions. model: a language model behind a server. program: a command-line
 * program in the workspace that queries a model by itself. external: any program that takes the episode over HTTP.
 */
export const agentSchema = z
  .discriminatedUnion('agent', [
    z.strictObject({ agent: z.literal('oracle') }),
    z.strictObject({ agent: z.literal('nop') }),
    z.strictObject({
      agent: z.literal('scripted'),
      actions: actionList.default([]).describe('carried out one after the other'),
      tasks: z.record(z.string().max(300), actionList).default({}).describe('by the names of tasks, or TASK/STEP, in place of "actions"'),
    }),
    modelAgentSchema,
    programAgentSchema,
    externalAgentSchema,
  ])
  .describe('agent of Muster');

export type Agent = z.infer<typeof agentSchema>;

/** Whether a model behind a server decides on the actions. */
export function hasModel(agent: Agent): agent is ModelAgent | ProgramAgent {
  return agent.agent === 'model' || agent.agent === 'program';
}

/** Finds a script's actions for a step of a task: under the first of the step's names that the script knows. */
export function findActions({ actions, tasks }: Extract<Agent, { agent: 'scripted' }>, { task, step }: OpenStep): readonly Action[] {
  const names = [task.id, task.id.split('/').at(-1) ?? ''];
  return (
    [...names.map((name) => `${name}/${step.name}`), ...names].map((name) => tasks[name]).find((found) => found !== undefined) ?? actions
  );
}

/** Agents that need no file. */
export const BUILT_IN_AGENTS: ReadonlyMap<string, Agent> = new Map([
  ['oracle', { agent: 'oracle' }],
  ['nop', { agent: 'nop' }],
]);

/** The largest number of bytes of an agent's file. */
export const AGENT_BYTES = 4 * 1024 * 1024;

const KNOWN = new KnownSettings(agentSchema);
const EXPECTED = 'expected oracle, nop, or the file of an agent: this suite has tasks for agents, which no policy plays';

/** @param where the agent's name, for messages. @throws InputError `agent.invalid` */
export function parseAgent(where: string, value: unknown): Agent {
  const parsed = agentSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = listProblems(parsed.error, value, KNOWN);
  const saysKind = isMapping(value) && 'agent' in value && !problems.some(({ path: [key] }) => key === undefined || key === 'agent');
  const lines = problems.map((problem) => formatProblemLine(where, problem));
  throw new InputError('agent.invalid', [...lines, ...(saysKind ? [] : [EXPECTED])].join('\n'));
}
