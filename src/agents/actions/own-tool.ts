import { z } from 'zod';
import { describeInvalid } from '../../kernel/documents/problems.ts';
import { ACTION_NAMES, isText, type Misfit } from './action.ts';
import type { Tool } from './action-tools.ts';

/** Tools of a task: programs in its image, each with a JSON object as its standard input. */

const NAME = /^[a-z][a-z0-9_]{0,63}$/;
const name = z.string().regex(NAME, 'expected a lower-case letter, then at most 63 lower-case letters, digits and "_"');

const argumentSchema = z.strictObject({
  type: z.enum(['string', 'number', 'boolean']).default('string').describe('type of its JSON value'),
  description: z.string().max(1000).default('').describe('description that agents receive'),
  optional: z.boolean().default(false).describe('whether an agent may leave it out'),
});

export const ownToolSchema = z
  .strictObject({
    name: name
      .refine((each) => !ACTION_NAMES.some((known) => known === each), 'expected a name that is no action of Muster')
      .describe('name by which an agent calls it'),
    description: z.string().min(1).max(4000).describe('description that agents receive'),
    command: z.array(z.string().min(1)).min(1).max(100).describe('program of the image and its arguments; no shell reads them'),
    timeout: z.number().positive().max(86_400).default(60).describe('seconds'),
    arguments: z
      .record(
        name.refine((each) => each !== 'action' && each !== 'step', 'expected a name other than "action" and "step"'),
        argumentSchema,
      )
      .default({})
      .describe('what an agent gives it; the program reads them as one JSON object from its standard input'),
  })
  .describe('a tool of a task');

export type OwnTool = z.infer<typeof ownToolSchema>;

/** A tool with the arguments that an agent has given. */
export interface ToolCall {
  readonly tool: OwnTool;
  readonly values: Readonly<Record<string, unknown>>;
}

export type ReadToolCall = { readonly kind: 'tool'; readonly call: ToolCall } | { readonly kind: 'misfit'; readonly misfit: Misfit };

/** Longer texts belong into files. */
const TEXT_LENGTH = 2 ** 20;

/** Made once: zod compiles each object schema at its first use, which costs more than reading a call. */
const namedSchema = z.looseObject({ action: z.string() });
const argumentSchemas = new WeakMap<OwnTool, z.ZodObject>();

/** @param given a step with the tool's name as its action. @returns undefined when it names none of the tools. */
export function readToolCall(given: unknown, tools: readonly OwnTool[]): ReadToolCall | undefined {
  if (tools.length === 0) return undefined;
  const named = namedSchema.safeParse(given);
  if (!named.success) return undefined;
  const { action, ...fields } = named.data;
  const tool = tools.find((each) => each.name === action);
  if (tool === undefined) return undefined;
  const read = getSchema(tool).safeParse(fields);
  if (read.success) return { kind: 'tool', call: { tool, values: read.data } };
  const detail = `${tool.name}: ${describeInvalid(read.error, fields, getSchema(tool))}`.slice(0, 2000);
  return { kind: 'misfit', misfit: { reason: 'malformed', detail } };
}

/** Describes the tool as agents receive it. */
export function describeOwnTool(tool: OwnTool): Tool {
  const { properties = {}, required = [] } = z.toJSONSchema(getSchema(tool), { io: 'input', unrepresentable: 'any' });
  const parameters = { type: 'object', properties, required, additionalProperties: false };
  return { name: tool.name, description: tool.description, parameters };
}

function getSchema(tool: OwnTool): z.ZodObject {
  const schema = argumentSchemas.get(tool) ?? buildSchema(tool);
  argumentSchemas.set(tool, schema);
  return schema;
}

function buildSchema({ arguments: declared }: OwnTool): z.ZodObject {
  const fields = Object.entries(declared).map(([key, { type, description, optional }]) => {
    const field = TYPES[type].describe(description);
    return [key, optional ? field.optional() : field] as const;
  });
  return z.strictObject(Object.fromEntries(fields));
}

const TYPES = {
  string: z.string().max(TEXT_LENGTH).refine(isText, 'expected Unicode without lone surrogates'),
  number: z.number(),
  boolean: z.boolean(),
};
