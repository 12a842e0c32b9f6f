import { InputError } from '../../kernel/errors.ts';

/** @param variable of the environment, from an agent's file. @throws InputError `agent.key` when it is not set. */
export function readKey(variable: string | undefined): string | undefined {
  if (variable === undefined) return undefined;
  const key = process.env[variable];
  if (key !== undefined && key !== '') return key;
  throw new InputError('agent.key', `keyVariable: the environment variable ${variable} is not set; set it to the key for the agent's file`);
}
