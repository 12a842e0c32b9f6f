import { createHash } from 'node:crypto';
import { formatCanonicalJson } from '../../kernel/canonical-json.ts';
import type { SourceFiles } from './source/source-files.ts';

/** Version of all steps: increased when a step's result for the same inputs changes. */
const VERSION = 1;

/** Returns the digest that names what a step makes of its inputs. */
export function nameStep(step: string, inputs: unknown): string {
  return createHash('sha256')
    .update(formatCanonicalJson({ version: VERSION, step, inputs }))
    .digest('hex');
}

/** Returns the digest of names, modes and contents. */
export function digestFiles(files: SourceFiles): string {
  const hash = createHash('sha256');
  for (const [path, { content, executable }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${JSON.stringify(path)} ${executable ? 'x' : '-'} ${content.length}\n`).update(content);
  return hash.digest('hex');
}
