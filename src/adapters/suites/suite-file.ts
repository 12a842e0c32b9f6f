import { open } from 'node:fs/promises';
import { InputError, messageOf } from '../../kernel/errors.ts';
import type { Layer } from '../../written/layer.ts';
import { yamlLayer } from '../../written/yaml-layer.ts';

/** Far more than any suite that a person writes; a wrong path must not fill the memory. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Reads a suite as written, YAML or JSON (which is YAML). Nothing of it is checked but that it can be read.
 *
 * @throws InputError `suite.missing`, `suite.too-large`, `suite.invalid`, naming the file, and the line where there is one.
 */
export async function readSuiteFile(path: string): Promise<Layer> {
  return yamlLayer(path, await readText(path), 'suite.invalid');
}

async function readText(path: string): Promise<string> {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new InputError('suite.too-large', `${path} has ${size} bytes; a suite has at most ${MAX_BYTES}`);
    return await file.readFile('utf8');
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError('suite.missing', `the suite ${path} cannot be read: ${messageOf(error)}; expected a YAML or JSON file`, {
      cause: error,
    });
  }
}
