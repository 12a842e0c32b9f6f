import { parse } from 'yaml';
import type { KnownSettings } from '../written/known-settings.ts';
import type { Layer } from '../written/layer.ts';
import { nested } from '../written/path.ts';

const PREFIX = 'MUSTER_';
/** For clients: which server they speak to, and what they show it. No settings, and nothing that a configuration should have in it. */
const OF_CLIENTS = new Set(['MUSTER_TOKEN', 'MUSTER_URL']);

/**
 * One layer for each variable that begins with `MUSTER_`: `MUSTER_POOL__CREATION_CONCURRENCY=8` sets
 * `pool.creationConcurrency`. Values are read as YAML, so numbers and lists are possible, unless the setting takes text only.
 */
export function environmentLayers(environment: Readonly<Record<string, string | undefined>>, known: KnownSettings): readonly Layer[] {
  return Object.entries(environment)
    .filter(([name]) => name.startsWith(PREFIX) && !OF_CLIENTS.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => {
      const path = settingPath(name.slice(PREFIX.length), known);
      const value = known.takesTextOnly(path) ? text : parsedOrText(text ?? '');
      return { value: nested(path, value), whereIs: () => `environment variable ${name}` };
    });
}

function settingPath(name: string, known: KnownSettings): readonly string[] {
  const path: string[] = [];
  for (const part of name.split('__')) path.push(known.takesKey(path, part) ? part : camelCase(part));
  return path;
}

function camelCase(upperSnake: string): string {
  return upperSnake.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** What is no YAML is meant as it stands. */
function parsedOrText(text: string): unknown {
  try {
    const value: unknown = parse(text);
    return value;
  } catch {
    return text;
  }
}
