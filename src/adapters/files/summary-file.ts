import { open } from 'node:fs/promises';
import { getReason } from '../../kernel/errno.ts';
import { InputError, getMessage } from '../../kernel/errors.ts';
import { parseJson, type JsonBounds } from '../../kernel/json-bounds.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';

/** Ten times the summary of ten thousand tasks; a wrong path must not fill the memory. */
const BOUNDS: JsonBounds = { bytes: 64 * 1024 * 1024, depth: 128, values: 5_000_000 };

/** Reads the content of a summary's file, which is JSON and otherwise unchecked. @throws InputError when it cannot be read. */
export async function readSummaryFile(path: string): Promise<unknown> {
  const bytes = await readBytes(path);
  try {
    return parseJson(bytes, BOUNDS);
  } catch (error) {
    throw new InputError(
      'results.invalid',
      `${path}: expected the JSON document that "muster eval --json" prints: ${getMessage(error)}; give that, or the directory of "muster eval --out"`,
      { cause: error },
    );
  }
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    if (size > BOUNDS.bytes)
      throw new InputError(
        'results.too-large',
        `${path} has ${formatExactBytes(size)}; a summary has at most ${formatExactBytes(BOUNDS.bytes)}`,
      );
    return await file.readFile();
  } catch (error) {
    if (error instanceof InputError) throw error;
    const remedy = 'expected a summary, or a directory that "muster eval --out" made of one checkpoint, with summary.json in it';
    throw new InputError('results.unreadable', `${path} cannot be read: ${getReason(error, path)}; ${remedy}`, { cause: error });
  }
}
