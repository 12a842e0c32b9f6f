import { InputError } from '../../kernel/errors.ts';
import { JsonProblem, parseText, type JsonBounds } from '../../kernel/json-bounds.ts';
import { readJsonText } from './json-in-file.ts';
import type { ReadAt } from './read-at.ts';

/** The index of a checkpoint in several files, as Hugging Face writes it: which tensor is in which. */

const INDEX = /\.(safetensors|bin)\.index\.json$/;
/** The bounds allow some hundred thousand tensors: more than any model has. */
const INDEX_BOUNDS: JsonBounds = { bytes: 32 * 2 ** 20, depth: 64, values: 1_000_000 };
/** This number of names is enough to show what is wrong. */
const MISSING_SHOWN = 5;

export function isShardIndex(path: string): boolean {
  return INDEX.test(path);
}

/**
 * A directory of which a shard is missing is no checkpoint yet.
 *
 * @param beside paths of all files of the checkpoint.
 * @throws InputError `checkpoint.shards`, naming the index and what it names.
 */
export async function assertShards(
  path: string,
  address: string,
  size: number,
  readAt: ReadAt,
  beside: ReadonlySet<string>,
): Promise<void> {
  const directory = path.slice(0, path.lastIndexOf('/') + 1);
  const missing = [...(await readShards(address, size, readAt))].filter((shard) => !beside.has(`${directory}${shard}`));
  if (missing.length === 0) return;
  const more = missing.length > MISSING_SHOWN ? `, … (${missing.length} in all)` : '';
  const found = `its files ${missing.slice(0, MISSING_SHOWN).map(quote).join(', ')}${more} are not there`;
  throw createRefusalError(address, found, 'all of them beside it; is the checkpoint still being written?');
}

async function readShards(address: string, size: number, readAt: ReadAt): Promise<ReadonlySet<string>> {
  const index = await readIndex(address, size, readAt);
  const map: unknown = typeof index === 'object' && index !== null ? Reflect.get(index, 'weight_map') : undefined;
  if (typeof map !== 'object' || map === null || Array.isArray(map))
    throw createRefusalError(address, 'it has no "weight_map"', 'an object');
  const shards: unknown[] = Object.values(map);
  const stray = shards.find((shard) => typeof shard !== 'string');
  if (stray !== undefined) throw createRefusalError(address, `"weight_map" holds ${JSON.stringify(stray).slice(0, 100)}`, 'names of files');
  return new Set(shards.filter((shard) => typeof shard === 'string'));
}

async function readIndex(address: string, size: number, readAt: ReadAt): Promise<unknown> {
  try {
    return parseText(await readJsonText(readAt, 0, size, INDEX_BOUNDS));
  } catch (error) {
    throw error instanceof JsonProblem ? createRefusalError(address, error.found, error.expected, error) : error;
  }
}

function quote(name: string): string {
  return JSON.stringify(name.slice(0, 200));
}

function createRefusalError(address: string, found: string, expected: string, cause?: unknown): InputError {
  return new InputError('checkpoint.shards', `checkpoint: ${address}: ${found}; expected ${expected}`, { cause });
}
