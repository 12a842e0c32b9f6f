import { z } from 'zod';
import { actionSchema } from '../../../agents/actions/action.ts';
import { dataSchema } from '../../../agents/actions/observation.ts';
import { remainingSchema } from '../../../agents/arena/episode-answers.ts';
import { OUTCOMES } from '../../../agents/arena/episode-state.ts';

/** Messages of OpenEnv's WebSocket and HTTP protocols, as its server has them. */

const name = z.string().min(1).max(200);

/** Parameters of a reset. Others are ignored, as in OpenEnv. */
export const resetDataSchema = z
  .looseObject({
    seed: z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullish(),
    episode_id: z.string().max(255).nullish().describe('as you call the episode: `state` says it again'),
    agent: name.nullish().describe('as you call the agent: episodes can be listed by it'),
  })
  .describe('parameters of a reset');

const record = z.record(z.string(), z.unknown());

export const messageSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('reset'), data: resetDataSchema.default({}) }),
  z.strictObject({ type: z.literal('step'), data: record }),
  z.strictObject({ type: z.literal('state') }),
  z.strictObject({ type: z.literal('close') }),
  z.strictObject({ type: z.literal('mcp'), data: record }),
]);
export type Message = z.infer<typeof messageSchema>;
export const MESSAGE_TYPES: readonly string[] = messageSchema.options.map(({ shape }) => shape.type.value);

/** An action for tool callers. */
export const toolActionSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('list_tools') }),
  z.looseObject({ type: z.literal('call_tool'), tool_name: z.string(), arguments: record.default({}) }),
]);

const ERROR_CODES = [
  'INVALID_JSON',
  'UNKNOWN_TYPE',
  'VALIDATION_ERROR',
  'EXECUTION_ERROR',
  'CAPACITY_REACHED',
  'FACTORY_ERROR',
  'SESSION_ERROR',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** The answer to a message. */
export type Frame =
  | { readonly type: 'observation'; readonly data: Result }
  | { readonly type: 'state'; readonly data: object }
  | { readonly type: 'mcp'; readonly data: object }
  | { readonly type: 'error'; readonly data: { readonly message: string; readonly code: ErrorCode } };

export interface Result {
  readonly observation: Readonly<Record<string, unknown>>;
  readonly reward: number | null;
  readonly done: boolean;
}

export const openEnvObservationSchema = z
  .strictObject({
    text: z.string().describe('for a model: all of `data` in words'),
    data: dataSchema,
    episode: z.string().describe('id of the episode in the arena'),
    step: z.int().min(0).describe('0 for the reset'),
    truncated: z.boolean().describe('whether a limit has ended the episode'),
    remaining: remainingSchema,
    notice: z.string().nullable().describe('what has happened to the workspace beside the action'),
    outcome: z.enum(OUTCOMES).optional().describe('once it is graded; void: there is no reward, through no fault of the agent'),
    tests_passed: z.int().min(0).optional(),
    total_tests: z.int().min(0).optional(),
    problem: z.string().nullable().optional().describe('why there is no reward'),
  })
  .describe('what the agent sees of a step');
export type OpenEnvObservation = z.infer<typeof openEnvObservationSchema>;

export const openEnvStateSchema = z
  .strictObject({
    episode_id: z.string().nullable(),
    step_count: z.int().min(0),
    task: z.string(),
    episode: z.string().nullable().describe('id of the episode in the arena'),
  })
  .describe('of the episode that the connection plays');

/** A result of an action. */
export interface ActionResult extends Result {
  readonly observation: OpenEnvObservation;
}

export const resultSchema = z.strictObject({
  observation: z.record(z.string(), z.unknown()),
  reward: z.number().nullable(),
  done: z.boolean(),
});

/** Builds the answer of GET /schema. */
export function buildOpenEnvSchemas(): Record<'action' | 'observation' | 'state', Record<string, unknown>> {
  return {
    action: { ...z.toJSONSchema(actionSchema, { io: 'input', unrepresentable: 'any' }) },
    observation: { ...z.toJSONSchema(openEnvObservationSchema) },
    state: { ...z.toJSONSchema(openEnvStateSchema) },
  };
}

export function createErrorFrame(code: ErrorCode, message: string): Frame {
  return { type: 'error', data: { message, code } };
}
