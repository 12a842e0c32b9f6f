import { z } from 'zod';
import { InputError } from '../../kernel/errors.ts';
import { KnownSettings } from '../../kernel/documents/known-settings.ts';
import type { Layer } from '../../kernel/documents/layer.ts';
import { isMapping, formatPath, type SettingPath } from '../../kernel/documents/path.ts';
import { formatProblemLine, listProblems, type Problem } from '../../kernel/documents/problems.ts';
import { parseTomlLayer } from '../../kernel/documents/toml-layer.ts';
import { harborSchema, type HarborTask } from './harbor-schema.ts';
import { musterTaskSchema, type MusterTask } from './muster-schema.ts';

export const INVALID = 'task.invalid';

const HARBOR_KEYS = new KnownSettings(harborSchema);
const MUSTER_KEYS = new KnownSettings(musterTaskSchema);

/** The minor versions of schema 1 whose every key is known. */
const KNOWN_MINORS = 4;

export interface ReadHarborTask {
  readonly harbor: HarborTask;
  readonly notices: readonly string[];
}

/** @param where the file's name for messages. @throws InputError `task.invalid` that names file and field. */
export function parseHarborTask(where: string, text: string): ReadHarborTask {
  const layer = parseTomlLayer(where, text, INVALID);
  const harbor = parseDocument(layer, harborSchema, HARBOR_KEYS);
  const unknown = [...findUnknownKeys(layer.value, [])].map(
    (path) => `${where}: ${formatPath(path)}: unknown key; it is kept and has no effect`,
  );
  return { harbor, notices: [...listVersionNotices(layer, harbor), ...unknown] };
}

/** @throws InputError `task.invalid` that names file and field. */
export function parseMusterTask(where: string, text: string): MusterTask {
  return parseDocument(parseTomlLayer(where, text, INVALID), musterTaskSchema, MUSTER_KEYS);
}

/** @throws InputError `task.invalid` when there are problems: all of them, a line each. */
export function assertSound(layer: Pick<Layer, 'findOrigin'>, problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  throw new InputError(INVALID, problems.map((problem) => formatProblemLine(layer.findOrigin(problem.path), problem)).join('\n'));
}

function parseDocument<Schema extends z.ZodType>(layer: Layer, schema: Schema, known: KnownSettings): z.infer<Schema> {
  const result = schema.safeParse(layer.value);
  if (result.success) return result.data;
  const problems = listProblems(result.error, layer.value, known);
  throw new InputError(INVALID, problems.map((problem) => formatProblemLine(layer.findOrigin(problem.path), problem)).join('\n'));
}

function listVersionNotices(layer: Layer, { schema_version, version }: HarborTask): readonly string[] {
  const given = schema_version ?? version;
  const where = layer.findOrigin([]);
  if (given === undefined) return [];
  const { major, minor } = /^(?<major>\d{1,4})\.(?<minor>\d{1,4})$/.exec(given)?.groups ?? {};
  const path = [schema_version === undefined ? 'version' : 'schema_version'];
  if (major !== '1') {
    const text = `expected a version from "1.0" to "1.${KNOWN_MINORS}", got ${JSON.stringify(given)}; a later Muster may read it`;
    assertSound(layer, [{ path, text, isAbsence: false }]);
  }
  if (Number(minor) <= KNOWN_MINORS) return [];
  return [`${where}: ${path[0]}: ${given} is later than 1.${KNOWN_MINORS}; what it adds is kept and has no effect`];
}

/** Yields the paths of keys that are misplaced or misspelt. */
function* findUnknownKeys(value: unknown, path: SettingPath): Generator<SettingPath> {
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) yield* findUnknownKeys(item, [...path, at]);
    return;
  }
  if (!isMapping(value) || (path.length > 0 && HARBOR_KEYS.listKeys(path).length === 0)) return;
  const known = new Set(HARBOR_KEYS.listKeys(path));
  for (const [key, inner] of Object.entries(value)) {
    if (known.has(key)) yield* findUnknownKeys(inner, [...path, key]);
    else yield [...path, key];
  }
}
