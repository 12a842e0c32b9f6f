import { z } from 'zod';
import { toObservation } from '../../../agents/actions/observation-text.ts';
import type { RewardAnswer } from '../../../agents/arena/episode-answers.ts';
import { computeRemaining } from '../../../agents/arena/episode-state.ts';
import { isTaskId } from '../../../agents/tasks/task-ids.ts';
import { InputError } from '../../../kernel/errors.ts';
import type { Caller } from '../../../service/access/caller.ts';
import type { EpisodeCalls } from '../../../service/arena/episode-service.ts';
import { stepToReward, type RewardWait } from '../../../service/arena/step-to-reward.ts';
import { ACTION_TOOLS } from '../../../agents/actions/action-tools.ts';
import { describeOwnTool } from '../../../agents/actions/own-tool.ts';

/** The arena as tools of a language model. No tool needs a session: each call names the episode. */

export interface ToolParts {
  readonly arena: EpisodeCalls;
  readonly caller: Caller;
  readonly wait: RewardWait;
}

export interface ArenaTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Record<string, unknown>;
  /** @throws InputError when the arguments are not valid, or the arena refuses them. */
  readonly call: (given: Record<string, unknown>, parts: ToolParts) => Promise<ToolAnswer>;
}

export interface ToolAnswer {
  readonly text: string;
  readonly data: Record<string, unknown>;
  /** Whether the action was refused. */
  readonly isError: boolean;
}

const startArguments = z.strictObject({
  task: z.string().refine(isTaskId, 'expected the id of a task: list_tasks lists them'),
  agent: z.string().min(1).max(200).default('mcp').describe('a name for you: episodes can be listed by it'),
  seed: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
});
const episodeArguments = z.strictObject({ episode: z.string() });

const callArguments = z.strictObject({
  episode: z.string(),
  tool: z.string().min(1).max(64).describe('its name'),
  arguments: z.record(z.string(), z.unknown()).default({}),
});

const EPISODE = { type: 'string', description: 'as start_episode gave it' };

const listTasks: ArenaTool = {
  name: 'list_tasks',
  description: 'lists the tasks that can be played',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  call: async (_, { arena }) => {
    const tasks = (await arena.listTasks()).map(({ id, description }) => ({ task: id, description }));
    const lines = tasks.map(({ task, description }) => (description === '' ? task : `${task}: ${description}`));
    return { text: lines.join('\n') || 'there are no tasks', data: { tasks }, isError: false };
  },
};

const startEpisode: ArenaTool = {
  name: 'start_episode',
  description: 'begins an episode: you get a task, and a workspace in which the other tools act',
  parameters: z.toJSONSchema(startArguments, { io: 'input', unrepresentable: 'any' }),
  call: async (given, { arena, caller }) => {
    const { episode, task } = await arena.start(readArguments(startArguments, given), caller);
    const { text } = toObservation({ kind: 'task', instruction: task.task.steps[0].instruction, workdir: task.task.workspace.workdir });
    const tools = task.task.arena.tools.map(describeOwnTool);
    const remaining = computeRemaining(episode.limits, 0, episode.spent);
    const data = { episode: episode.id, task: episode.task, remaining, tools };
    const own = tools.map(
      ({ name, description, parameters }) => `\ncall_tool runs ${name}: ${description}; its arguments: ${JSON.stringify(parameters)}`,
    );
    return { text: `episode ${episode.id}\n${text}${own.join('')}`, data, isError: false };
  },
};

const cancelEpisode: ArenaTool = {
  name: 'cancel_episode',
  description: 'gives an episode up: it has no reward',
  parameters: { type: 'object', properties: { episode: EPISODE }, required: ['episode'], additionalProperties: false },
  call: async (given, { arena, caller }) => {
    const { id, closed } = await arena.cancel(readArguments(episodeArguments, given).episode, caller);
    return { text: `episode ${id} is closed`, data: { episode: id, outcome: closed?.outcome ?? null }, isError: false };
  },
};

/** Clients list tools once for all tasks, so this tool calls those that a task defines. */
const callTool: ArenaTool = {
  name: 'call_tool',
  description: 'runs a tool of the task of an episode: start_episode says which tools it has',
  parameters: z.toJSONSchema(callArguments, { io: 'input', unrepresentable: 'any' }),
  call: (given, parts) => {
    const { episode, tool, arguments: fields } = readArguments(callArguments, given);
    return act(episode, { ...fields, action: tool }, parts);
  },
};

/** Creates an action of the arena, with the episode beside its fields. The arena checks the fields, and wrong ones cost a step. */
function createActionTool({ name, description, parameters }: (typeof ACTION_TOOLS)[number]): ArenaTool {
  const fields = z.looseObject({ properties: z.looseObject({}), required: z.array(z.string()) }).parse(parameters);
  return {
    name,
    description: description || `${name.replaceAll('_', ' ')} of the workspace`,
    parameters: { ...fields, properties: { episode: EPISODE, ...fields.properties }, required: ['episode', ...fields.required] },
    call: ({ episode, ...action }, parts) => act(episode, { ...action, action: name }, parts),
  };
}

async function act(episode: unknown, action: Record<string, unknown>, { arena, caller, wait }: ToolParts): Promise<ToolAnswer> {
  if (typeof episode !== 'string') throw new InputError('episode.missing', 'episode: expected the id that start_episode returned');
  const { answer, reward } = await stepToReward(arena, episode, caller, action, wait);
  if (reward === 'grading') throw new InputError('episode.grading', `episode ${episode} is still being graded; submit again`);
  if (answer === undefined) throw new InputError('episode.empty', `episode ${episode} has ended before its first step`);
  const { observation, done, truncated, remaining, step, notice } = answer;
  const data = { episode, step, done, truncated, remaining, notice, observation: observation.data, reward: reward?.reward ?? null };
  const text = [notice, observation.text, ...(reward ? [formatReward(reward)] : [])].filter((line) => line !== null).join('\n');
  return { text, data, isError: observation.data.kind === 'refused' };
}

function formatReward({ outcome, reward, tests_passed, total_tests, problem }: RewardAnswer): string {
  if (reward === null) return `the episode has ended as ${outcome}: ${problem ?? 'there is no reward'}`;
  return `the episode has ended: reward ${reward}; ${tests_passed} of ${total_tests} tests pass${problem === null ? '' : `; ${problem}`}`;
}

export const ARENA_TOOLS: readonly ArenaTool[] = [listTasks, startEpisode, ...ACTION_TOOLS.map(createActionTool), callTool, cancelEpisode];

function readArguments<Schema extends z.ZodType>(schema: Schema, given: Record<string, unknown>): z.infer<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
  throw new InputError('arguments.invalid', problems.join('; ').slice(0, 2000));
}
