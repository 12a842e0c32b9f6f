import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { dirname, extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import { gzip } from 'node:zlib';
import { z } from 'zod';
import { STYLE } from './page-style.ts';

/** A file as browsers get it. */
export interface PageFile {
  /** The path below `/page/DIGEST/`. */
  readonly path: string;
  readonly type: string;
  readonly gzipped: Uint8Array<ArrayBuffer>;
}

export interface PageFiles {
  /** Digest of all files. */
  readonly digest: string;
  /** The module to begin with. */
  readonly entry: string;
  readonly style: string;
  readonly files: readonly PageFile[];
}

/** The libraries that run in the browser, by the name that modules import. */
const LIBRARIES = { 'lit-html': 'lit-html.js', uplot: 'dist/uPlot.esm.js' } as const;
const IMPORT = /(?<before>(?:from|import)\s*)(?<quote>["'])(?<name>[^"'\n]+)\k<quote>/g;
const SCRIPT = 'text/javascript; charset=utf-8';

const { entry, root } = z.object({ data: z.object({ entry: z.string(), root: z.string() }) }).parse(workerData).data;
const require = createRequire(entry);
void collect().then((files) => parentPort?.postMessage(files));

/** Collects all modules that the page's first one imports, and nothing else: other files are not served. */
async function collect(): Promise<PageFiles> {
  const modules = new Map<string, string>();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (modules.has(buildUrlPath(file))) continue;
    const { text, imported } = await read(file);
    modules.set(buildUrlPath(file), text);
    waiting.push(...imported);
  }
  const style = `${STYLE}\n${await readCurveStyle()}`;
  const files = [
    ...Array.from(modules, ([path, text]) => ({ path, text, type: SCRIPT })),
    { path: 'page.css', text: style, type: 'text/css; charset=utf-8' },
  ];
  const digest = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16);
  const compress = promisify(gzip);
  return {
    digest,
    entry: buildUrlPath(entry),
    style: 'page.css',
    files: await Promise.all(files.map(async ({ path, text, type }) => ({ path, type, gzipped: new Uint8Array(await compress(text)) }))),
  };
}

/** Bundled, it is one file in the directory of the page's first module. */
function readCurveStyle(): Promise<string> {
  const bundled = join(dirname(entry), 'uPlot.min.css');
  return readFile(existsSync(bundled) ? bundled : require.resolve('uplot/dist/uPlot.min.css'), 'utf8');
}

/** Reads a module's JavaScript with imports that a browser can follow, and the files that they name. */
async function read(file: string): Promise<{ readonly text: string; readonly imported: readonly string[] }> {
  const written = await readFile(file, 'utf8');
  const script = extname(file) === '.ts' ? stripTypeScriptTypes(written) : written.replace(/\n\/\/# sourceMappingURL=.*/, '');
  const imported: string[] = [];
  const text = script.replaceAll(IMPORT, (all, before: string, quote: string, name: string) => {
    const target = getTarget(name, file);
    if (target === undefined) return all;
    imported.push(target);
    const path = relative(dirname(buildUrlPath(file)), buildUrlPath(target));
    return `${before}${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
  });
  return { text, imported };
}

/** Returns undefined for words in a text that look like an import. */
function getTarget(name: string, file: string): string | undefined {
  if (name.startsWith('.')) return join(dirname(file), name);
  const library = Object.entries(LIBRARIES).find(([known]) => name === known || name.startsWith(`${known}/`));
  if (!library) return undefined;
  const [known, main] = library;
  return join(getPackage(known), name === known ? main : name.slice(known.length + 1));
}

/** Installed beside the package or above it. */
function getPackage(library: string): string {
  const file = require.resolve(library);
  const name = `node_modules/${library}`;
  return file.slice(0, file.lastIndexOf(name) + name.length);
}

/** Files keep their relative paths, so that relative imports work. */
function buildUrlPath(file: string): string {
  const at = file.lastIndexOf('node_modules/');
  const isLibrary = Object.keys(LIBRARIES).some((name) => file.startsWith(`node_modules/${name}/`, at));
  return isLibrary ? file.slice(at).replace('node_modules', 'libraries') : relative(root, file);
}
