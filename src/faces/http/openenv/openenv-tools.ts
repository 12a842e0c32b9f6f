import { z } from 'zod';
import { ACTION_TOOLS, type Tool } from '../../../agents/actions/action-tools.ts';
import { describeOwnTool } from '../../../agents/actions/own-tool.ts';
import type { EpisodeCalls } from '../../../service/arena/episode-service.ts';
import { toProblem } from '../problems/problem.ts';
import { toolActionSchema, type ActionResult, type Result } from './openenv-frames.ts';

/** OpenEnv's tools: a step of the type `list_tools` or `call_tool`, and the JSON-RPC calls `tools/list` and `tools/call`. */

/** Lists the tools of an environment: the actions, and the tools of its task. */
export async function listEnvironmentTools(arena: Pick<EpisodeCalls, 'findTask'>, name: string): Promise<readonly object[]> {
  const { task } = await arena.findTask(name);
  const tools: readonly Tool[] = [...ACTION_TOOLS, ...task.arena.tools.map(describeOwnTool)];
  return tools.map(({ name: tool, description, parameters }) => ({ name: tool, description, input_schema: parameters }));
}

export interface ToolCall {
  readonly name: string;
  readonly action: Record<string, unknown>;
}

export type ReadToolCall =
  { readonly kind: 'list' } | ({ readonly kind: 'call' } & ToolCall) | { readonly kind: 'misfit'; readonly detail: string };

/** Returns undefined for an action that does not call a tool. */
export function readToolCall(data: Record<string, unknown>): ReadToolCall | undefined {
  if (data['type'] !== 'list_tools' && data['type'] !== 'call_tool') return undefined;
  const read = toolActionSchema.safeParse(data);
  if (!read.success) return { kind: 'misfit', detail: z.prettifyError(read.error).slice(0, 2000) };
  if (read.data.type === 'list_tools') return { kind: 'list' };
  return { kind: 'call', ...toToolCall(read.data.tool_name, read.data.arguments) };
}

/** A tool's name cannot be replaced by an argument. */
function toToolCall(name: string, fields: Record<string, unknown>): ToolCall {
  return { name, action: { ...fields, action: name } };
}

/** Returns a result as tool callers have it; what was refused is an error. */
export function toToolResult(tool: string, { observation, reward, done }: ActionResult): Result {
  const { text, data } = observation;
  const error = data.kind === 'refused' ? { error_type: classifyRefusal(data.reason), message: data.detail } : null;
  return { observation: { ...observation, tool_name: tool, result: error === null ? text : null, error }, reward, done };
}

function classifyRefusal(reason: string): 'tool_not_found' | 'invalid_args' | 'execution_error' {
  if (reason === 'unknown-action' || reason === 'not-allowed') return 'tool_not_found';
  return reason === 'malformed' ? 'invalid_args' : 'execution_error';
}

export const rpcSchema = z.looseObject({
  jsonrpc: z.literal('2.0'),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
  id: z.union([z.string(), z.number()]).nullish(),
});
const callSchema = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).default({}) });

const INVALID_REQUEST = -32_600;
const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;
export const SERVER_ERROR = -32_000;

/** Answers one JSON-RPC request. Never rejects. */
export async function answerRpc(
  data: unknown,
  tools: () => Promise<readonly object[]>,
  act: (call: ToolCall) => Promise<ActionResult>,
): Promise<object> {
  const request = rpcSchema.safeParse(data);
  if (!request.success) return createFailure(null, INVALID_REQUEST, z.prettifyError(request.error));
  const { id = null, method, params } = request.data;
  if (method === 'tools/list') return { jsonrpc: '2.0', id, result: { tools: await tools() } };
  if (method !== 'tools/call') return createFailure(id, METHOD_NOT_FOUND, `expected tools/list or tools/call, got ${method.slice(0, 100)}`);
  const call = callSchema.safeParse(params);
  if (!call.success) return createFailure(id, INVALID_PARAMS, z.prettifyError(call.error));
  try {
    const { observation, reward, done } = await act(toToolCall(call.data.name, call.data.arguments));
    const isError = observation.data.kind === 'refused';
    const content = [{ type: 'text', text: observation.text }];
    return { jsonrpc: '2.0', id, result: { data: { ...observation, reward, done }, content, isError } };
  } catch (error) {
    return createFailure(id, SERVER_ERROR, toProblem(error).detail);
  }
}

export function createFailure(id: string | number | null, code: number, message: string): object {
  return { jsonrpc: '2.0', id, error: { code, message: message.slice(0, 2000) } };
}
