import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { z } from 'zod';

/**
 * Directory of Muster's own files: `package.json`, `config/` and `runner/`. It is the nearest directory above the code with a
 * `package.json`: the checkout where the TypeScript runs directly, the package's directory where it was compiled or bundled.
 */
export const PACKAGE_ROOT = findPackage(import.meta.dirname);

const manifestSchema = z.object({ version: z.string().min(1) });

export const PACKAGE_VERSION: string = manifestSchema.parse(JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'))).version;

/**
 * Returns the URL of a worker thread's module, which is in the same directory as the module that starts it and has the same suffix: `.ts` in a
 * checkout, `.js` in a package.
 *
 * @param starter its `import.meta.url`.
 */
export function resolveBeside(starter: string, name: string): URL {
  return new URL(`${name}${extname(new URL(starter).pathname)}`, starter);
}

function findPackage(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory;
  const above = dirname(directory);
  if (above === directory) throw new Error(`no package.json above ${import.meta.dirname}: Muster's own files are not complete`);
  return findPackage(above);
}
