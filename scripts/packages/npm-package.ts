/**
 * Compiles Muster into the npm package muster-eval: dist/package, and packed dist/muster-eval-VERSION.tgz.
 *
 *   node_modules/.bin/node scripts/packages/npm-package.ts
 *
 * With --unchecked the compiler checks no types: for code that `npm run check` has checked.
 */
import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { endOnClosedOutput } from '../../src/cli/terminal/output.ts';
import { bundlePage } from './page-bundle.ts';
import { copyRuntimeFiles, DIST, emptied, manifest, ROOT, run, type Manifest } from './package-files.ts';

/** The package's modules, each with its source file without the suffix. */
const EXPORTS = { '.': 'src/app/main', './client': 'src/app/client/server-client', './client/errors': 'src/faces/client/client-errors' };
/** Where `import` finds the module of that file. */
const toEntry = (file: string): string => `entries/${basename(file)}.js`;
const COMMAND = 'bin/muster.js';

endOnClosedOutput(process);
const target = await emptied(join(DIST, 'package'));
compile('-p', 'tsconfig.build.json', '--outDir', target);
await bundlePage(join(target, 'src/faces/page/browser'));
await copyRuntimeFiles(target);
await copySinks();
await cp(join(ROOT, 'scripts/packages/muster-bin.mjs'), join(target, COMMAND));
await chmod(join(target, COMMAND), 0o755);
await cp(join(ROOT, 'scripts/packages/required-node.mjs'), join(target, 'bin/required-node.js'));
await writeEntries();
await writeFile(join(target, 'README.md'), await readFile(join(ROOT, 'README.md')));
await writeFile(join(target, 'package.json'), `${JSON.stringify(published(await manifest()), undefined, 2)}\n`);
const packed = run('npm', ['pack', '--silent', '--pack-destination', DIST, target]).trim();
process.stdout.write(`dist/${packed}\n`);

/** The Python modules that `--log` needs. The whole Python package is in the wheel. */
async function copySinks(): Promise<void> {
  const source = 'clients/python/src/muster';
  for (const part of ['__init__.py', 'sinks'])
    await cp(join(ROOT, source, part), join(target, source, part), { recursive: true, filter: (path) => basename(path) !== '__pycache__' });
}

/** Writes modules that an old Node can parse. Each imports the module with the code, in which an old Node would report a syntax error. */
async function writeEntries(): Promise<void> {
  await mkdir(join(target, 'entries'));
  for (const file of Object.values(EXPORTS)) {
    const names = Object.keys(await import(join(ROOT, `${file}.ts`))).join(', ');
    const lines = [
      `import { describeOldNode } from '../bin/required-node.js';`,
      `const oldNode = describeOldNode();`,
      `if (oldNode !== undefined) throw new Error(\`muster-eval: \${oldNode}\`);`,
      `export const { ${names} } = await import('../${file}.js');`,
    ];
    await writeFile(join(target, toEntry(file)), `${lines.join('\n')}\n`);
  }
}

function compile(...args: readonly string[]): void {
  const unchecked = process.argv.includes('--unchecked') ? ['--noCheck'] : [];
  run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...args, ...unchecked]);
}

function published({ name, version, description, license, engines, dependencies }: Manifest): object {
  const exported = Object.entries(EXPORTS).map(([module, file]) => [module, { types: `./${file}.d.ts`, default: `./${toEntry(file)}` }]);
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    os: ['linux'],
    engines,
    bin: { muster: COMMAND, 'muster-eval': COMMAND },
    exports: { ...Object.fromEntries(exported), './package.json': './package.json' },
    dependencies,
  };
}
