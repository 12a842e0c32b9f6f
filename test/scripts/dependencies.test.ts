import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';

const ROOT = path.join(import.meta.dirname, '../..');
/** Half of what an install had when the limit was set. */
const MOST_PACKAGES = 270;

const manifestSchema = z.object({ dependencies: z.record(z.string(), z.string()) });
const lockSchema = z.object({ packages: z.record(z.string(), z.object({ dev: z.boolean().default(false) })) });

const read = (name: string): Promise<string> => readFile(path.join(ROOT, name), 'utf8');

it('docs/dependencies.md lists each direct dependency, and the number of packages is within the limit', async () => {
  const page = await read('docs/dependencies.md');
  const listed = [...page.matchAll(/^\| `(?<name>[^`]+)` \| \S.* \|$/gm)].map(({ groups }) => groups?.['name']);
  const { dependencies } = manifestSchema.parse(JSON.parse(await read('package.json')));
  expect(listed).toEqual(Object.keys(dependencies).sort());

  const { packages } = lockSchema.parse(JSON.parse(await read('package-lock.json')));
  const production = Object.entries(packages).filter(([name, { dev }]) => name !== '' && !dev);
  expect(page).toContain(`has ${production.length} packages: the ${listed.length} in the table`);
  expect(production.length).toBeLessThanOrEqual(MOST_PACKAGES);
});
