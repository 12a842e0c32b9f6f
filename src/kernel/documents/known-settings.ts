import { z } from 'zod';
import { isMapping, type SettingPath } from './path.ts';

/** Looks up in a schema which keys are allowed at a path. Used for names in messages and environment variables, not for validation. */
export class KnownSettings {
  readonly #schema: z.ZodType;
  #jsonSchema: unknown;

  constructor(schema: z.ZodType) {
    this.#schema = schema;
  }

  /** Lists the keys with fixed names at the path. */
  listKeys(path: SettingPath): readonly string[] {
    return this.#listNodes(path).flatMap(({ properties }) => (isMapping(properties) ? Object.keys(properties) : []));
  }

  /** Whether the key is allowed there exactly as it is written. */
  takesKey(path: SettingPath, key: string): boolean {
    if (this.listKeys(path).includes(key)) return true;
    return this.#listNodes(path).some(({ additionalProperties, propertyNames }) => {
      if (!isMapping(additionalProperties) || !isMapping(propertyNames)) return false;
      return typeof propertyNames['pattern'] !== 'string' || new RegExp(propertyNames['pattern']).test(key);
    });
  }

  /** Whether the schema allows a value at the path. */
  knows(path: SettingPath): boolean {
    return this.#listNodes(path).length > 0;
  }

  takesTextOnly(path: SettingPath): boolean {
    const types = this.#listNodes(path).flatMap(({ type }) => (type === undefined ? [] : [type]));
    return types.length > 0 && types.every((type) => type === 'string');
  }

  #listNodes(path: SettingPath): readonly Readonly<Record<string, unknown>>[] {
    // Built on first use: most programs look nothing up, and the JSON Schema of a large schema takes some milliseconds.
    this.#jsonSchema ??= z.toJSONSchema(this.#schema, { io: 'input', unrepresentable: 'any' });
    let nodes = listAlternatives(this.#jsonSchema);
    for (const part of path) nodes = nodes.flatMap((node) => listAlternatives(getChild(node, part)));
    return nodes;
  }
}

function getChild(node: Readonly<Record<string, unknown>>, part: string | number): unknown {
  const { properties, additionalProperties, items } = node;
  if (typeof part === 'number') return items;
  if (isMapping(properties) && Object.hasOwn(properties, part)) return properties[part];
  return additionalProperties;
}

/** Lists the node itself, or every branch of a union. */
function listAlternatives(node: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!isMapping(node)) return [];
  const branches = [node['anyOf'], node['oneOf'], node['allOf']].flatMap((list: unknown) => (Array.isArray(list) ? list : []));
  return [node, ...branches.flatMap(listAlternatives)];
}
