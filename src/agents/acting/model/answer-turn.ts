import { readAction, type Action, type Misfit } from '../../actions/action.ts';
import { ACTION_TOOLS, type Tool } from '../../actions/action-tools.ts';
import { describeOwnTool, readToolCall, type OwnTool, type ToolCall as OwnToolCall } from '../../actions/own-tool.ts';
import type { ToolCall } from '../../rollouts/record/trajectory.ts';
import type { ModelAgent } from './model-agent.ts';
import type { Completion } from './model-endpoint.ts';

/** The answer to one call of a tool. */
export type PlannedCall =
  | { readonly kind: 'action'; readonly call: ToolCall; readonly action: Action }
  | { readonly kind: 'tool'; readonly call: ToolCall; readonly given: OwnToolCall }
  | { readonly kind: 'misfit'; readonly call: ToolCall; readonly misfit: Misfit };

export type TurnPlan =
  | { readonly kind: 'calls'; readonly calls: readonly PlannedCall[] }
  /** The model called no tool. */
  | { readonly kind: 'remark'; readonly text: string };

/** With `bash`, an agent has the two actions that it needs, under the names that models know. */
const BASH: readonly Tool[] = ACTION_TOOLS.flatMap(({ name, description, parameters }) =>
  name === 'run' ? [{ name: 'bash', description, parameters }] : name === 'submit' ? [{ name, description, parameters }] : [],
);

/**
 * Lists the tools of an agent. Where the task has none of its own, the list is the same object each time, so that its JSON is written once.
 *
 * @param own tools of the task.
 */
export function listTools({ tools }: Pick<ModelAgent, 'tools'>, own: readonly OwnTool[]): readonly Tool[] {
  const actions = tools === 'actions' ? ACTION_TOOLS : BASH;
  return own.length === 0 ? actions : [...actions, ...own.map(describeOwnTool)];
}

/**
 * Decides what to do with an answer of the model. Errors in it are shown to the model.
 *
 * @param own tools of the task, which are among `tools`.
 */
export function planTurn(
  { toolCalls, finishReason }: Pick<Completion, 'toolCalls' | 'finishReason'>,
  tools: readonly Tool[],
  own: readonly OwnTool[],
): TurnPlan {
  if (toolCalls.length > 0) return { kind: 'calls', calls: toolCalls.map((call) => planCall(call, tools, own)) };
  const cut =
    finishReason === 'length' ? 'Your answer was cut off at its longest length before it called a tool. ' : 'You called no tool. ';
  return { kind: 'remark', text: `${cut}Call one of ${tools.map(({ name }) => name).join(', ')}; call submit when you are done.` };
}

function planCall(call: ToolCall, tools: readonly Tool[], own: readonly OwnTool[]): PlannedCall {
  const misfit = (reason: Misfit['reason'], detail: string): PlannedCall => ({ kind: 'misfit', call, misfit: { reason, detail } });
  const names = tools.map(({ name }) => name);
  if (!names.includes(call.name))
    return misfit('unknown-action', `there is no tool ${JSON.stringify(call.name.slice(0, 100))}; expected one of ${names.join(', ')}`);
  const given = buildParsedArguments(call.arguments);
  if (given === undefined)
    return misfit('malformed', `the arguments of ${call.name} are no JSON object; expected one, such as {"name": "value"}`);
  const ownCall = readToolCall({ ...given, action: call.name }, own);
  if (ownCall !== undefined) return ownCall.kind === 'tool' ? { kind: 'tool', call, given: ownCall.call } : { ...ownCall, call };
  const read = readAction({ ...given, action: call.name === 'bash' ? 'run' : call.name });
  return read.kind === 'action' ? { kind: 'action', call, action: read.action } : { kind: 'misfit', call, misfit: read.misfit };
}

/** No text counts as no arguments: servers leave them out where a tool has none. */
function buildParsedArguments(text: string): object | undefined {
  try {
    const value: unknown = text.trim() === '' ? {} : JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
