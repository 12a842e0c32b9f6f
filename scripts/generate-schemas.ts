/**
 * Writes the JSON Schemas that editors and other programs use, from the zod schemas that Muster validates with; and into config/default.yaml
 * the settings of the providers, from their folders.
 *
 *   node scripts/generate-schemas.ts
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { endOnClosedOutput } from '../src/cli/terminal/output.ts';
import { publishedSchemas } from './published-schemas.ts';

endOnClosedOutput(process);
const root = join(import.meta.dirname, '..');
for (const { path, text } of await publishedSchemas()) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  process.stdout.write(`${path}\n`);
}
