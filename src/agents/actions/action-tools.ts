import { z } from 'zod';
import { actionSchema } from './action.ts';

/** A tool as model servers take it: what a model may call. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export const ACTION_TOOLS = actionSchema.options.map((option) => {
  const { properties = {}, required = [], description = '' } = z.toJSONSchema(option, { io: 'input', unrepresentable: 'any' });
  const { action: _, ...fields } = properties;
  const parameters: Record<string, unknown> = {
    type: 'object',
    properties: fields,
    required: required.filter((name) => name !== 'action'),
    additionalProperties: false,
  };
  return { name: option.shape.action.value, description, parameters };
});
