import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { getReason } from '../kernel/errno.ts';
import { InputError } from '../kernel/errors.ts';
import { resolveConfig, type Config } from './config.ts';
import { readEnvironmentLayers, findEmptyVariables, findUnknownVariables } from './environment-layer.ts';
import { suggestNames } from '../kernel/documents/did-you-mean.ts';
import { KnownSettings } from '../kernel/documents/known-settings.ts';
import type { Flag, Layer } from '../kernel/documents/layer.ts';
import { isMapping, nestValue, mergeDeep, getValueAt, type SettingPath } from '../kernel/documents/path.ts';
import { formatProblemLine, listProblems, type Problem } from '../kernel/documents/problems.ts';
import { PACKAGE_ROOT } from '../kernel/package-root.ts';
import type { ConfigSchema, WrittenConfig } from './schema.ts';
import { parseYamlLayer } from '../kernel/documents/yaml-layer.ts';

export interface ConfigSources {
  /** Path of a YAML or JSON file with the settings that differ from the defaults. */
  readonly file?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly flags?: readonly Flag[];
  /** The number of processors that "auto" means; those that this process may use when left out. */
  readonly processors?: number;
}

const DEFAULTS = join(PACKAGE_ROOT, 'config', 'default.yaml');

export class ConfigReader {
  readonly #schema: ConfigSchema;
  readonly #known: KnownSettings;

  constructor(schema: ConfigSchema) {
    this.#schema = schema;
    this.#known = new KnownSettings(schema);
  }

  /**
   * Merges the defaults, the file, the environment variables and the flags; later layers override earlier ones.
   *
   * @throws InputError `config.invalid` (one line for each problem: source, path, expected, found), `config.unreadable`.
   */
  load(sources: ConfigSources): Config {
    const defaults = createFileLayer(DEFAULTS, 'config/default.yaml');
    const layers = [
      defaults,
      ...(sources.file === undefined ? [] : [createFileLayer(sources.file, sources.file)]),
      ...readEnvironmentLayers(sources.environment, this.#known),
      ...(sources.flags ?? []).map(createFlagLayer),
    ];
    const problems = layers.flatMap((layer) => this.#listLayerProblems(layer));
    const { environment } = sources;
    assertNone([...problems, ...findUnknownVariables(environment, this.#known), ...findEmptyVariables(environment, this.#known)]);
    const merged = withInheritance(layers.reduce<unknown>((base, { value }) => mergeDeep(base, value), {}));
    const machine = { processors: sources.processors ?? availableParallelism(), environment: sources.environment };
    const config = resolveConfig(this.#validate(merged, layers), machine);
    assertNone(findContradictions(config).map((problem) => formatProblemLine(findOrigin(layers, problem.path), problem)));
    return config;
  }

  /** A layer may omit settings. Those that it has must be valid even where a later layer overrides them. */
  #listLayerProblems(layer: Layer): readonly string[] {
    const result = this.#schema.safeParse(layer.value);
    if (result.success) return [];
    return listProblems(result.error, layer.value, this.#known)
      .filter(({ isAbsence }) => !isAbsence)
      .map((problem) => formatProblemLine(layer.findOrigin(problem.path), problem));
  }

  #validate(merged: unknown, layers: readonly Layer[]): WrittenConfig {
    const result = this.#schema.safeParse(merged);
    if (result.success) return result.data;
    const problems = listProblems(result.error, merged, this.#known);
    throw new InputError(
      'config.invalid',
      problems.map((problem) => formatProblemLine(findOrigin(layers, problem.path), problem)).join('\n'),
    );
  }
}

function createFileLayer(path: string, name: string): Layer {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const problem = existsSync(path) ? `cannot be read: ${getReason(error, path)}` : 'does not exist';
    throw new InputError('config.unreadable', `${name}: ${problem}; expected a YAML file${suggestBeside(path)}`, { cause: error });
  }
  return parseYamlLayer(name, text, 'config.invalid');
}

function suggestBeside(path: string): string {
  const directory = dirname(path);
  return existsSync(path) || !existsSync(directory) ? '' : suggestNames(basename(path), readdirSync(directory));
}

function createFlagLayer({ name, path, value }: Flag): Layer {
  return { value: nestValue(path, value), findOrigin: () => `flag ${name}` };
}

/** A template inherits omitted settings from "local", a quota from "default". */
function withInheritance(merged: unknown): unknown {
  return inheritSettings(inheritSettings(merged, 'templates', 'local'), 'quotas', 'default');
}

function inheritSettings(merged: unknown, setting: string, from: string): unknown {
  const members = getValueAt(merged, [setting]);
  if (!isMapping(merged) || !isMapping(members)) return merged;
  const inherited = Object.entries(members).map(([name, member]) => [name, mergeDeep(members[from], member)]);
  return { ...merged, [setting]: Object.fromEntries(inherited) };
}

/** Finds settings that are valid alone but contradict each other. */
function findContradictions({ pool }: Config): readonly Problem[] {
  const tooMany = (['min', 'warm'] as const).filter((name) => pool[name] > pool.max);
  return tooMany.map((name) => ({
    path: ['pool', name],
    text: `expected no more than pool.max, which is ${pool.max}, got ${pool[name]}`,
    isAbsence: false,
  }));
}

/** Finds the last layer that sets the path, or the longest prefix of it that any layer sets. */
function findOrigin(layers: readonly Layer[], path: SettingPath): string {
  for (let length = path.length; length > 0; length -= 1) {
    const part = path.slice(0, length);
    const layer = layers.findLast(({ value }) => getValueAt(value, part) !== undefined);
    if (layer !== undefined) return layer.findOrigin(part);
  }
  return 'configuration';
}

function assertNone(lines: readonly string[]): void {
  if (lines.length > 0) throw new InputError('config.invalid', lines.join('\n'));
}
