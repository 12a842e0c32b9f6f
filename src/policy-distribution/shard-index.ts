import { InputError } from '../kernel/errors.ts';
import type { ReadAt } from './safetensors.ts';

/** The index of a checkpoint that lies in several files, as Hugging Face writes it: which tensor is in which. */

const INDEX = /\.(safetensors|bin)\.index\.json$/;
/** Some hundred thousand tensors: beyond all models, and read at once. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Enough to see what is wrong. */
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
  if (size > MOST_BYTES) throw refused(address, `it has ${size} bytes`, `at most ${MOST_BYTES}`);
  const directory = path.slice(0, path.lastIndexOf('/') + 1);
  const missing = [...shardsIn(address, await readAt(0, size))].filter((shard) => !beside.has(`${directory}${shard}`));
  if (missing.length === 0) return;
  const more = missing.length > MISSING_SHOWN ? `, … (${missing.length} in all)` : '';
  const found = `its files ${missing.slice(0, MISSING_SHOWN).map(quoted).join(', ')}${more} are not there`;
  throw refused(address, found, 'all of them beside it; is the checkpoint still being written?');
}

function shardsIn(address: string, bytes: Uint8Array): ReadonlySet<string> {
  let index: unknown;
  try {
    index = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw refused(address, 'it is no valid JSON', 'a JSON object with "weight_map"', error);
  }
  const map: unknown = typeof index === 'object' && index !== null ? Reflect.get(index, 'weight_map') : undefined;
  if (typeof map !== 'object' || map === null || Array.isArray(map)) throw refused(address, 'it has no "weight_map"', 'an object');
  const shards: unknown[] = Object.values(map);
  const stray = shards.find((shard) => typeof shard !== 'string');
  if (stray !== undefined) throw refused(address, `"weight_map" holds ${JSON.stringify(stray).slice(0, 100)}`, 'names of files');
  return new Set(shards.filter((shard) => typeof shard === 'string'));
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 200));
}

function refused(address: string, found: string, expected: string, cause?: unknown): InputError {
  return new InputError('checkpoint.shards', `checkpoint: ${address}: ${found}; expected ${expected}`, { cause });
}
