import { once } from 'node:events';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { InputError } from '../../kernel/errors.ts';
import { PACKAGE_ROOT, resolveBeside } from '../../kernel/package-root.ts';
import { Thread } from '../../kernel/thread.ts';
import type { PageFile, PageFiles } from './page-files-thread.ts';

/** Addresses of the page. It shows what its address names; `/page/` has the files that it is made of. */
const ADDRESSES = [
  '/',
  '/evaluations/:id',
  '/evaluations/:id/episodes/:index',
  '/pools',
  '/access',
  '/agents',
  '/agents/:id',
  '/rollouts',
  '/rollouts/:id',
  '/batches',
  '/batches/:name',
] as const;

/** No inline code, nothing from elsewhere, and no frame of another site. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

interface Page {
  readonly html: string;
  readonly files: ReadonlyMap<string, PageFile>;
}

/** Adds the routes of the live page. Its files are collected at the first request: most servers are used by programs alone. */
export function addPageRoutes(app: FastifyInstance): void {
  addPageFrom(app, join(import.meta.dirname, 'browser'));
}

/** @param directory of the page's first module: `app.js`, bundled with all that it imports as packages have it, or the modules as they are written. */
export function addPageFrom(app: FastifyInstance, directory: string): void {
  let collected: Promise<Page> | undefined;
  const page = (): Promise<Page> => (collected ??= collectPage(directory));
  for (const address of ADDRESSES)
    app.get(address, { schema: { hide: true } }, async (_request, reply) => {
      const { html } = await page();
      return setSecurityHeaders(reply).header('cache-control', 'no-cache').type('text/html; charset=utf-8').send(html);
    });
  app.get<{ Params: { readonly '*': string } }>('/page/*', { schema: { hide: true } }, async ({ params, headers }, reply) => {
    const file = (await page()).files.get(params['*']);
    if (!file)
      throw new InputError('request.not-found', 'there is no such file of the page; it may be of another version: load the page again');
    const answer = setSecurityHeaders(reply)
      .header('cache-control', 'public, max-age=31536000, immutable')
      .header('vary', 'accept-encoding')
      .type(file.type);
    // All browsers accept it; some programs do not.
    if (!/\bgzip\b/.test(headers['accept-encoding'] ?? '')) return answer.send(await promisify(gunzip)(file.gzipped));
    return answer.header('content-encoding', 'gzip').send(Buffer.from(file.gzipped));
  });
}

function setSecurityHeaders(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-security-policy', POLICY)
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
    .header('cross-origin-opener-policy', 'same-origin');
}

async function collectPage(directory: string): Promise<Page> {
  const { digest, entry, style, files } = await collectFiles(directory);
  const base = `/page/${digest}`;
  // Without these links a browser would discover modules from their importers, one round trip after the other.
  const more = files.filter(({ path }) => path !== entry && path !== style);
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Muster</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/${style}">
<script type="module" src="${base}/${entry}"></script>${more.map(({ path }) => `\n<link rel="modulepreload" href="${base}/${path}">`).join('')}
</head>
<body><div id="page"></div><noscript>The page needs JavaScript. Without it, <code>muster list</code> shows evaluations in a terminal.</noscript></body>
</html>
`,
    files: new Map(files.map((file) => [`${digest}/${file.path}`, file])),
  };
}

/**
 * The work is done in a thread, which ends by itself: types are stripped from TypeScript where Muster runs from its sources, and Node warns of that
 * on stderr.
 */
async function collectFiles(directory: string): Promise<PageFiles> {
  const thread = resolveBeside(import.meta.url, 'page-files-thread');
  const bundled = join(directory, 'app.js');
  const entry = existsSync(bundled) ? bundled : join(directory, 'app.ts');
  const worker = new Thread(thread, { data: { entry, root: PACKAGE_ROOT }, execArgv: ['--disable-warning=ExperimentalWarning'] });
  const [files]: readonly PageFiles[] = await once(worker, 'message');
  if (!files) throw new Error('the thread that collects the files of the page sent none');
  return files;
}
