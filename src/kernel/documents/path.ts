/** Path of a setting: keys of mappings, positions in lists. */
export type SettingPath = readonly (string | number)[];

/** Formats a path as people write it: `templates.local.mounts[0].source`. */
export function formatPath(path: SettingPath): string {
  return path.map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`)).join('');
}

/** Returns the value at the path; undefined when there is none, or when the path leads through something other than mappings and lists. */
export function getValueAt(value: unknown, path: SettingPath): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined;
    current = Reflect.get(current, part);
  }
  return current;
}

/** Returns a mapping that holds `value` at the path and nothing else. */
export function nestValue(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), value);
}

/** Merges `over` into `base`: mappings are merged key by key, anything else is replaced. */
export function mergeDeep(base: unknown, over: unknown): unknown {
  if (!isMapping(base) || !isMapping(over)) return over;
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) merged.set(key, merged.has(key) ? mergeDeep(merged.get(key), value) : value);
  return Object.fromEntries(merged);
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
