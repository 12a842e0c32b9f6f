import { InputError } from '../../kernel/errors.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import { assertCheckpointPath } from '../checkpoint.ts';
import { assertShards, isShardIndex } from '../formats/shard-index.ts';
import type { ReadAt } from '../formats/read-at.ts';
import { readSafetensorsHeader } from '../formats/safetensors.ts';

/** What every checkpoint has to satisfy, wherever it comes from. */

export interface CheckpointLimits {
  /** The limit for all files of one checkpoint together. */
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/**
 * @param uri of the checkpoint, for people.
 * @throws InputError `checkpoint.empty`, `checkpoint.too-large`, `checkpoint.path`.
 */
export function assertAcceptable(
  uri: string,
  files: readonly { readonly path: string; readonly size: number }[],
  { maxBytes }: CheckpointLimits,
): void {
  if (files.length === 0) throw new InputError('checkpoint.empty', `checkpoint: ${uri} has no files in it; expected the policy's weights`);
  assertSize(
    uri,
    files.reduce((sum, { size }) => sum + size, 0),
    maxBytes,
  );
  const paths = new Set<string>();
  for (const { path } of files) {
    assertCheckpointPath(path);
    if (paths.has(path)) throw new InputError('checkpoint.path', `checkpoint: ${uri} has two files at ${path}; expected one`);
    paths.add(path);
  }
}

/** @throws InputError `checkpoint.too-large` */
export function assertSize(uri: string, bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  const message = `checkpoint: ${uri} has ${formatExactBytes(bytes)}, more than the ${formatExactBytes(maxBytes)} allowed; raise checkpoints.maxBytes to accept it`;
  throw new InputError('checkpoint.too-large', message);
}

/** Checks the name of a checkpoint's only file. @throws InputError `checkpoint.path` */
export function assertFileName(name: string): void {
  assertCheckpointPath(name);
  if (name.includes('/'))
    throw new InputError(
      'checkpoint.path',
      `checkpoint: expected the name of a file, such as policy.safetensors, got ${JSON.stringify(name)}`,
    );
}

/**
 * Checks a file in the format of its suffix.
 *
 * @param address of the file, for people. @param beside paths of all files of its checkpoint; undefined while they are not known. @throws InputError
 * `checkpoint.safetensors`, `checkpoint.shards`
 */
export async function inspect(path: string, address: string, size: number, readAt: ReadAt, beside?: ReadonlySet<string>): Promise<void> {
  if (beside && isShardIndex(path)) await assertShards(path, address, size, readAt, beside);
  if (path.endsWith('.safetensors')) await readSafetensorsHeader(address, size, readAt);
}
