import { open } from 'node:fs/promises';
import { getReason, hasErrno } from '../../kernel/errno.ts';
import { InputError } from '../../kernel/errors.ts';
import { isMapping } from '../../kernel/documents/path.ts';
import type { Layer } from '../../kernel/documents/layer.ts';
import { parseYamlLayer } from '../../kernel/documents/yaml-layer.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import { isWeightsFile } from '../../policy-distribution/checkpoint.ts';

/** Suites that people write are far smaller. The limit keeps a wrong path from filling the memory. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Reads a suite as written, YAML or JSON (which is YAML), or another file that a person writes, without checking its content.
 *
 * @param what it is, for messages and for the codes of errors. @throws InputError `suite.missing`, `suite.swapped`, `suite.too-large`,
 * `suite.invalid`, naming the file, and the line where there is one.
 */
export async function readSuiteFile(path: string, what: 'suite' | 'batch' = 'suite'): Promise<Layer> {
  const layer = parseYamlLayer(path, await readText(path, what), `${what}.invalid`);
  if (describesAgent(layer.value)) throw new InputError(`${what}.swapped`, `${path} describes an agent; expected a ${what}`);
  return layer;
}

/** A suite may name an agent, but has other keys, too; an agent's own file has no keys of a suite. */
function describesAgent(value: unknown): boolean {
  return isMapping(value) && typeof value['agent'] === 'string' && !['name', 'tasks', 'environment', 'stop'].some((key) => key in value);
}

async function readText(path: string, what: string): Promise<string> {
  if (isWeightsFile(path))
    throw new InputError(`${what}.swapped`, `${path} has the name of a checkpoint's file; expected a ${what}, a YAML or JSON file`);
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    if (size > MAX_BYTES)
      throw new InputError(
        `${what}.too-large`,
        `${path} has ${formatExactBytes(size)}; a ${what} has at most ${formatExactBytes(MAX_BYTES)}`,
      );
    return await file.readFile('utf8');
  } catch (error) {
    if (error instanceof InputError) throw error;
    const why = describeFailure(path, error);
    throw new InputError(`${what}.missing`, `the ${what} ${path} cannot be read: ${why}; expected a YAML or JSON file`, { cause: error });
  }
}

function describeFailure(path: string, error: unknown): string {
  if (hasErrno(error, 'EISDIR')) return 'it is a directory';
  if (hasErrno(error, 'ENOENT') && path.startsWith('file:')) return 'it is a URL; expected a path';
  return getReason(error, path);
}
