import { parse } from 'yaml';
import type { KnownSettings } from '../kernel/documents/known-settings.ts';
import { findNearest } from '../kernel/documents/did-you-mean.ts';
import type { Layer } from '../kernel/documents/layer.ts';
import { nestValue } from '../kernel/documents/path.ts';

const PREFIX = 'MUSTER_';
/**
 * Variables that are no settings and belong in no configuration: the server that clients connect to, tokens, and the Python that started
 * Muster.
 */
const NO_SETTINGS: readonly string[] = ['MUSTER_ISSUES_TOKEN', 'MUSTER_LOG_PYTHON', 'MUSTER_PYTHON', 'MUSTER_TOKEN', 'MUSTER_URL'];

const EXPECTED_VARIABLE = 'config/default.yaml has all settings, and MUSTER_POOL__MAX for example sets pool.max';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads one layer for each variable that begins with `MUSTER_`: `MUSTER_POOL__CREATION_CONCURRENCY=8` sets `pool.creationConcurrency`. Values are
 * read as YAML, so numbers and lists are possible, unless the setting takes text only.
 */
export function readEnvironmentLayers(environment: Environment, known: KnownSettings): readonly Layer[] {
  return listSettingVariables(environment)
    .map((name) => ({ name, text: environment[name], path: findSettingPath(name.slice(PREFIX.length), known) }))
    .filter(({ text, path }) => known.knows(path) && !isEmpty(text, path, known))
    .map(({ name, text, path }) => {
      const value = known.takesTextOnly(path) ? text : parseOrText(text ?? '');
      return { value: nestValue(path, value), findOrigin: () => `environment variable ${name}` };
    });
}

/** Finds a line for each variable that begins with `MUSTER_` and is no setting, with the nearest known name. */
export function findUnknownVariables(environment: Environment, known: KnownSettings): readonly string[] {
  return listSettingVariables(environment)
    .filter((name) => !known.knows(findSettingPath(name.slice(PREFIX.length), known)))
    .map((name) => {
      const given = name.slice(PREFIX.length);
      const parts = given.split('__');
      const names = [...NO_SETTINGS.map((client) => client.slice(PREFIX.length)), ...listVariableNames(parts, known)];
      const meant = findNearest(given, names, Math.min(...parts.map((part) => part.length)));
      const remedy = meant === undefined ? EXPECTED_VARIABLE : `did you mean "${PREFIX}${meant}"?`;
      return `environment variable ${name}: there is no such setting; ${remedy}`;
    });
}

/** Finds a line for each variable that is empty although its setting is no text. */
export function findEmptyVariables(environment: Environment, known: KnownSettings): readonly string[] {
  return listSettingVariables(environment)
    .filter((name) => {
      const path = findSettingPath(name.slice(PREFIX.length), known);
      return known.knows(path) && isEmpty(environment[name], path, known);
    })
    .map((name) => `environment variable ${name} is empty; give it a value, or unset it`);
}

function isEmpty(text: string | undefined, path: readonly string[], known: KnownSettings): boolean {
  return (text ?? '').trim() === '' && !known.takesTextOnly(path);
}

function listSettingVariables(environment: Environment): readonly string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !NO_SETTINGS.includes(name))
    .sort();
}

/**
 * Lists the variables of all settings, without the `MUSTER_` prefix.
 *
 * @param parts of a variable's name. Names that people choose, such as a template's, are accepted as they are.
 */
function listVariableNames(parts: readonly string[], known: KnownSettings, path: readonly string[] = []): readonly string[] {
  const [part = '', ...rest] = parts;
  const keys = known.listKeys(path).map((key) => ({ key, name: toUpperSnake(key) }));
  const key = findKey(part, path, known);
  const chosen = known.takesKey(path, key) && !known.listKeys(path).includes(key) ? [{ key, name: part }] : [];
  const names: string[] = [];
  for (const { key: inner, name } of [...keys, ...chosen]) {
    names.push(name);
    for (const end of listVariableNames(rest, known, [...path, inner])) names.push(`${name}__${end}`);
  }
  return names;
}

function findSettingPath(name: string, known: KnownSettings): readonly string[] {
  const path: string[] = [];
  for (const part of name.split('__')) path.push(findKey(part, path, known));
  return path;
}

function findKey(part: string, path: readonly string[], known: KnownSettings): string {
  return known.takesKey(path, part) ? part : toCamelCase(part);
}

function toCamelCase(upperSnake: string): string {
  return upperSnake.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function toUpperSnake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** A value that is not valid YAML counts as plain text. */
function parseOrText(text: string): unknown {
  try {
    const value: unknown = parse(text);
    return value;
  } catch {
    return text;
  }
}
