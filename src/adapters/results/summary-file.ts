import { open } from 'node:fs/promises';
import { InputError, messageOf } from '../../kernel/errors.ts';

/** Ten times the summary of ten thousand tasks; a wrong path must not fill the memory. */
const MAX_BYTES = 64 * 1024 * 1024;

/** A summary as it stands in its file: nothing of it has been checked but that it is JSON. @throws InputError when it cannot be had. */
export async function readSummaryFile(path: string): Promise<unknown> {
  const text = await readText(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(
      'results.invalid',
      `${path}: expected the JSON document that "muster eval --json" prints: ${messageOf(error)}; give that, or the directory of "muster eval --out"`,
      { cause: error },
    );
  }
}

async function readText(path: string): Promise<string> {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new InputError('results.too-large', `${path} has ${size} bytes; a summary has at most ${MAX_BYTES}`);
    return await file.readFile('utf8');
  } catch (error) {
    if (error instanceof InputError) throw error;
    const remedy = 'expected a summary, or a directory that "muster eval --out" made of one checkpoint, with summary.json in it';
    throw new InputError('results.unreadable', `${path} cannot be read: ${messageOf(error)}; ${remedy}`, { cause: error });
  }
}
