/**
 * Builds the Python package muster-eval: dist/muster_eval-VERSION-py3-none-any.whl, with the program bundled into few files.
 *
 *   node_modules/.bin/node scripts/packages/wheel.ts
 */
import { cp, glob, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { rolldown } from 'rolldown';
import { endOnClosedOutput } from '../../src/cli/terminal/output.ts';
import { bundlePage } from './page-bundle.ts';
import { copyRuntimeFiles, DIST, emptied, manifest, ROOT, run } from './package-files.ts';

/** The command, and the modules of worker threads, which are loaded by their names (kernel/package-root.ts). */
const COMMAND = 'src/cli/muster.ts';
const THREADS = 'src/**/{*-thread,*-worker,thread-start}.ts';

/** A package that is not bundled, because it loads files of its own by their paths. */
const TREE_SITTER = '@vscode/tree-sitter-wasm';
/** The parser and the grammars for preparing tasks (Grammar of language-adapter.ts). */
const GRAMMARS = ['javascript', 'typescript', 'tsx', 'go', 'rust', 'cpp'];

endOnClosedOutput(process);
const staging = await emptied(join(DIST, 'wheel'));
const { name, version } = await manifest();
const python = join(ROOT, 'clients/python');
const withoutCaches = (path: string): boolean => basename(path) !== '__pycache__';
for (const part of ['muster', 'muster_client']) {
  await cp(join(python, 'src', part), join(staging, part), { recursive: true, filter: withoutCaches });
}
const program = join(staging, 'muster/program');
await copyRuntimeFiles(program);
await writeFile(join(program, 'package.json'), `${JSON.stringify({ name, version, type: 'module' })}\n`);
await bundle(join(program, 'code'));
await bundlePage(join(program, 'code/browser'));
await copyDocumentation();
await copyTreeSitter();
const description = await readFile(join(ROOT, 'scripts/packages/wheel.toml'), 'utf8');
await writeFile(join(staging, 'pyproject.toml'), description.replace('VERSION', version));
await cp(join(ROOT, 'README.md'), join(staging, 'README.md'));
await cp(join(ROOT, 'LICENSE'), join(staging, 'LICENSE'));
const ownPython = join(ROOT, '.venv/bin/python');
// Nothing is installed if the tests' set-up has installed these packages.
run(ownPython, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', 'scripts/packages/requirements.txt']);
run(ownPython, ['-m', 'build', '--no-isolation', '--wheel', '--outdir', DIST, staging]);
process.stdout.write(`dist/${name.replace('-', '_')}-${version}-py3-none-any.whl\n`);

/** The pages of the server's documentation and their logo, copied to where the bundled @fastify/swagger-ui looks for them. */
async function copyDocumentation(): Promise<void> {
  const pages = join(ROOT, 'node_modules/@fastify/swagger-ui/static');
  await cp(pages, join(program, 'static'), { recursive: true, filter: (path) => !path.endsWith('.map') });
  await cp(join(pages, 'logo.svg'), join(program, 'code/static/logo.svg'));
}

async function copyTreeSitter(): Promise<void> {
  const [from, to] = [ROOT, program].map((directory) => join(directory, 'node_modules', TREE_SITTER));
  const grammars = GRAMMARS.map((grammar) => `wasm/tree-sitter-${grammar}.wasm`);
  for (const file of ['package.json', 'LICENSE', 'wasm/tree-sitter.js', 'wasm/tree-sitter.wasm', ...grammars])
    await cp(join(from ?? '', file), join(to ?? '', file));
}

async function bundle(directory: string): Promise<void> {
  const modules = [COMMAND, ...(await Array.fromAsync(glob(THREADS, { cwd: ROOT })))].filter((file) => !file.endsWith('figures-thread.ts'));
  const input = Object.fromEntries(modules.map((file) => [basename(file, '.ts'), join(ROOT, file)]));
  // CommonJS modules find their files by it.
  const transform = { define: { __dirname: 'import.meta.dirname' } };
  const build = await rolldown({
    input,
    cwd: ROOT,
    platform: 'node',
    logLevel: 'warn',
    tsconfig: false,
    transform,
    external: [TREE_SITTER],
  });
  const names = { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' };
  await build.write({ dir: directory, format: 'esm', minify: true, ...names });
  await build.close();
}
