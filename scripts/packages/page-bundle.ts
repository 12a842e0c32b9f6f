import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT } from './package-files.ts';

/**
 * Bundles the live page into one module and the style of its curves, so that a browser with an empty cache sends two requests and not one
 * for each module.
 */
export async function bundlePage(directory: string): Promise<void> {
  const input = join(ROOT, 'src/faces/page/browser/app.ts');
  const build = await rolldown({ input, cwd: ROOT, platform: 'browser', logLevel: 'warn', tsconfig: false });
  await build.write({ dir: directory, format: 'esm', minify: true, codeSplitting: false });
  await build.close();
  await cp(join(ROOT, 'node_modules/uplot/dist/uPlot.min.css'), join(directory, 'uPlot.min.css'));
}
