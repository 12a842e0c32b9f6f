import type { Config } from '../config/config.ts';
import { ConfigReader, type ConfigSources } from '../config/load-config.ts';
import { createConfigSchema } from '../config/schema.ts';
import { assertKinds, TEXT, type Kind } from '../kernel/documents/known-keys.ts';
import { PROVIDERS } from './sandboxes/providers.ts';

/** The configuration's schema with the settings of all providers. Part of the composition root. */
export const configSchema = createConfigSchema(PROVIDERS);

const COUNT: Kind = { expected: 'a whole number from 1 on', fits: (value) => Number.isSafeInteger(value) && Number(value) >= 1 };
const reader = new ConfigReader(configSchema);

/** @throws InputError as `ConfigReader.load` does. */
export function loadConfig(sources: ConfigSources): Config {
  return reader.load(sources);
}

/**
 * Reads the configuration of a command or a script: the file, the environment's variables, and `--sandboxes` over both.
 *
 * @throws InputError `library.input` for an argument of another kind; as `ConfigReader.load` does.
 */
export function readConfiguration(file?: string, sandboxes?: number): Config {
  assertKinds('readConfiguration()', { file, sandboxes }, { file: TEXT, sandboxes: COUNT });
  const flags = sandboxes === undefined ? [] : [{ name: '--sandboxes', path: ['pool', 'max'], value: sandboxes }];
  return loadConfig({ file, environment: process.env, flags });
}
