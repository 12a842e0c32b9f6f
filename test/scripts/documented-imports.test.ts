import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';

const ROOT = path.join(import.meta.dirname, '../..');
const manifestSchema = z.object({ name: z.string(), exports: z.record(z.string(), z.string()) });

/** The pages that users read. first-hour.md also quotes mistakes of users. */
async function pages(): Promise<readonly string[]> {
  const names = await Array.fromAsync(glob(['README.md', 'docs/*.md', 'clients/**/README.md'], { cwd: ROOT }));
  return names.filter((name) => name !== 'docs/first-hour.md');
}

it('the package exports every name that the documentation imports', async () => {
  const { name, exports } = manifestSchema.parse(JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')));
  const exported = new Set(Object.keys(exports).map((key) => path.posix.join(name, key)));
  const imported: string[] = [];
  for (const page of await pages()) {
    const text = await readFile(path.join(ROOT, page), 'utf8');
    const found = text.matchAll(/(?:from '|node_modules\/|`)(muster[\w-]*(?:\/(?:client|client\/errors|tsconfig\.json))?)['`]/g);
    imported.push(...Array.from(found, ([, specifier = '']) => specifier).filter((each) => each.includes('/') || each === name));
  }
  expect(imported.filter((each) => !exported.has(each))).toEqual([]);
  expect(imported).toEqual(expect.arrayContaining([...exported]));
});
